"""Form texts of validators that the first corpus did not ask, in English and Chinese."""

import gettext
import os
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from form_texts import with_django
from playwright.sync_api import Playwright
from provoked import Provoked

FIELDS = """<form>
<input type=month id=month min=2026-05 value=2026-01><input type=week id=week max=2026-W02
value=2026-W30><input type=time id=time min=09:00 max=17:00 value=20:00>
<input type=datetime-local id=at max=2026-01-01T00:00 value=2026-06-01T10:00>
<input type=email id=mails multiple value="a@b.de, c"><input type=email id=dots value="a@b..c">
<input type=email id=two value="a@b@c"><input type=email id=local value="@shop.example">
<input type=number id=half step=0.5 value=0.7><input type=tel id=tel pattern="[0-9 ]+"
title="digits and blanks" value=x><input type=date id=past max=2026-01-01 value=2026-03-01>
<input type=number id=below min=10 value=3><input type=number id=bad>
<select id=pick required><option value="">?</select><input type=checkbox id=agree required>
<textarea id=long minlength=20></textarea></form>"""
JQUERY = {
    "name": ("required", "true", ""), "mail": ("email", "true", "ana@"),
    "web": ("url", "true", "shop"), "day": ("date", "true", "tomorrow"),
    "iso": ("dateISO", "true", "24.12.2026"), "sum": ("number", "true", "1.2.3"),
    "count": ("digits", "true", "1.5"), "again": ("equalTo", "'[name=mail]'", "x"),
    "brief": ("maxlength", "3", "abcdef"), "full": ("minlength", "9", "abc"),
    "span": ("rangelength", "[2,4]", "abcdef"), "rank": ("range", "[1,5]", "9"),
    "most": ("max", "10", "11"), "least": ("min", "10", "9"), "step": ("step", "5", "7"),
}  # fmt: skip
PARSLEY = {
    "a": ("required", ""), "b": ('type="email"', "x"), "c": ('type="url"', "x"),
    "d": ('data-parsley-type="integer"', "1.5"), "e": ('data-parsley-type="alphanum"', "a b"),
    "f": ('data-parsley-min="5"', "1"), "g": ('data-parsley-max="5"', "9"),
    "h": ('data-parsley-range="[2,4]"', "9"), "i": ('data-parsley-minlength="5"', "ab"),
    "j": ('data-parsley-maxlength="2"', "abc"), "k": ('data-parsley-pattern="[0-9]+"', "x"),
    "l": ('data-parsley-equalto="[name=a]"', "z"), "m": ('data-parsley-length="[3,5]"', "a"),
}  # fmt: skip
VALIDATION = "VALIDATION_ERROR"


def form_messages(
    playwright: Playwright, launch: dict[str, Any], packages: Path | None
) -> Iterator[Provoked]:
    """Yield what forms say: browsers, scripts in pages, and servers.

    Args:
        playwright: starts the browsers.
        launch: arguments of the launch.
        packages: holds `node_modules` (jquery-validation, parsleyjs) and `py` (formencode,
            colander, marshmallow, voluptuous, cerberus); what is not there says nothing.
    """
    for language in ("en-US", "zh-CN"):
        options = [*launch.get("args", []), "--headless=new", f"--lang={language}"]
        environ = {**os.environ, "LANGUAGE": language.replace("-", "_")}
        browser = playwright.chromium.launch(**{**launch, "args": options, "env": environ})
        page = browser.new_page()
        page.set_content(FIELDS)
        page.locator("#long").press_sequentially("abc")
        page.locator("#bad").press_sequentially("1e")
        texts = page.evaluate(
            "() => [...document.querySelectorAll('input, select, textarea')]"
            ".map(field => [field.id, field.validationMessage])"
        )
        for name, text in texts:
            if text:
                yield Provoked("", text, None, VALIDATION, "", f"chromium: {language} six {name}")
        if packages:
            yield from _in_page(page, packages / "node_modules", language)
        browser.close()
    yield from _django()
    if packages:
        sys.path.insert(0, str(packages / "py"))
        yield from _formencode()
        yield from _colander()
        yield from _python_validators()


def _in_page(page: Any, modules: Path, language: str) -> Iterator[Provoked]:
    """Yield messages of jQuery Validation and Parsley at work on a form."""
    chinese = language.startswith("zh")
    page.set_content("<form>" + "".join(
        f'<input name="{name}" value="{value}">' for name, (_, _, value) in JQUERY.items()
    ) + "</form>")  # fmt: skip
    page.add_script_tag(path=modules / "jquery/dist/jquery.js")
    page.add_script_tag(path=modules / "jquery-validation/dist/jquery.validate.js")
    if chinese:
        folder = modules / "jquery-validation/dist/localization"
        page.add_script_tag(path=folder / "messages_zh.js")
    rules = ",".join(f"{name}: {{{rule}: {value}}}" for name, (rule, value, _) in JQUERY.items())
    page.evaluate(f"() => $('form').validate({{rules: {{{rules}}}}}).form()")
    for text in page.locator("label.error").all_inner_texts():
        yield Provoked("", text, None, VALIDATION, "", f"jquery-validation: {language}")
    page.set_content("<form>" + "".join(
        f'<input name="{name}" {rule} value="{value}">' for name, (rule, value) in PARSLEY.items()
    ) + "</form>")  # fmt: skip
    page.add_script_tag(path=modules / "jquery/dist/jquery.js")
    page.add_script_tag(path=modules / "parsleyjs/dist/parsley.js")
    if chinese:
        page.add_script_tag(path=modules / "parsleyjs/dist/i18n/zh_cn.js")
        page.evaluate("() => Parsley.setLocale('zh-cn')")
    page.evaluate("() => { $('form').parsley().validate() }")
    for text in page.locator(".parsley-errors-list li").all_inner_texts():
        yield Provoked("", text, None, VALIDATION, "", f"parsley: {language}")


def _django() -> Iterator[Provoked]:
    """Yield messages of Django's field types that the first corpus left out."""
    with_django()
    from django import forms
    from django.core import validators
    from django.utils import translation

    class Form(forms.Form):  # type: ignore[misc]
        photo = forms.FileField()
        span = forms.DurationField()
        ident = forms.UUIDField()
        data = forms.JSONField()
        host = forms.GenericIPAddressField()
        rate = forms.FloatField(max_value=1)
        most = forms.DecimalField(max_digits=3, decimal_places=2)
        at = forms.DateTimeField()
        tags = forms.MultipleChoiceField(choices=[("a", "A")])
        step = forms.IntegerField(step_size=5)
        code = forms.RegexField("^[A-Z]{2}$")
        agree = forms.BooleanField()
        kind = forms.TypedChoiceField(choices=[("a", "A")])
        letters = forms.CharField(validators=[validators.validate_unicode_slug])
        rows = forms.CharField(validators=[validators.validate_comma_separated_integer_list])

    wrong = {
        "span": "soon", "ident": "12", "data": "{", "host": "300.1.1.1", "rate": "2",
        "most": "1234.5", "at": "later", "tags": "b", "step": "7", "code": "a1",
        "kind": "z", "letters": "a b", "rows": "1;2",
    }  # fmt: skip
    for language in ("en", "zh-hans"):
        with translation.override(language):
            for field, errors in Form(wrong).errors.items():
                for text in errors:
                    yield Provoked("", str(text), None, VALIDATION, "",
                                   f"django: {language} six {field}")  # fmt: skip


def _formencode() -> Iterator[Provoked]:
    formencode: Any = import_module("formencode")
    validators = formencode.validators

    tries: tuple[tuple[Any, Any], ...] = (
        (validators.NotEmpty(), ""), (validators.Int(), "x"), (validators.Int(min=5), "1"),
        (validators.Int(max=5), "9"), (validators.Number(), "a"), (validators.Email(), "ana"),
        (validators.Email(), "a@b c"), (validators.URL(), "a b"), (validators.MaxLength(2), "abc"),
        (validators.MinLength(5), "abc"), (validators.OneOf(["a"]), "b"),
        (validators.DateConverter(), "31/31/2026"), (validators.TimeConverter(), "25:99"),
        (validators.PlainText(), "a b!"), (validators.PhoneNumber(), "x"),
        (validators.PostalCode(), "x"), (validators.IPAddress(), "300.1.1.1"),
        (validators.CreditCardValidator(), {"ccType": "visa", "ccNumber": "12"}),
        (validators.DateValidator(after_now=True), "x"), (validators.StateProvince(), "zz"),
    )  # fmt: skip
    folder = Path(formencode.__file__).parent / "i18n"
    for language in ("en", "zh_CN"):
        catalogue = gettext.translation("FormEncode", folder, [language], fallback=True)
        for number, (validator, value) in enumerate(tries):
            state = type("State", (), {"_": staticmethod(catalogue.gettext)})()
            try:
                validator.to_python(value, state)
            except formencode.Invalid as error:
                text = " ".join(str(error).split())
                yield Provoked("", text, None, VALIDATION, "", f"formencode: {language} {number}")
            except TypeError:
                continue


def _colander() -> Iterator[Provoked]:
    c: Any = import_module("colander")

    tries: tuple[tuple[Any, Any], ...] = (
        (c.SchemaNode(c.Int()), "x"), (c.SchemaNode(c.Int()), c.null),
        (c.SchemaNode(c.Int(), validator=c.Range(min=5)), "1"),
        (c.SchemaNode(c.Int(), validator=c.Range(max=5)), "9"),
        (c.SchemaNode(c.Str(), validator=c.Email()), "ana"),
        (c.SchemaNode(c.Str(), validator=c.url), "x"),
        (c.SchemaNode(c.Str(), validator=c.OneOf(["a", "b"])), "z"),
        (c.SchemaNode(c.Str(), validator=c.Length(min=5)), "ab"),
        (c.SchemaNode(c.Str(), validator=c.Length(max=2)), "abc"),
        (c.SchemaNode(c.Str(), validator=c.Regex("^a$")), "b"),
        (c.SchemaNode(c.Date()), "tomorrow"), (c.SchemaNode(c.Time()), "25:99"),
        (c.SchemaNode(c.Bool()), []), (c.SchemaNode(c.Decimal()), "1,5"),
        (c.SchemaNode(c.Mapping()), "x"),
    )  # fmt: skip
    folder = Path(c.__file__).parent / "locale"
    for language in ("en", "zh_Hans"):
        catalogue = gettext.translation("colander", folder, [language], fallback=True)
        for number, (node, value) in enumerate(tries):
            try:
                node.deserialize(value)
            except c.Invalid as error:
                said = error.messages()[0]
                text = said.interpolate(catalogue.gettext(said)) if hasattr(
                    said, "interpolate"
                ) else str(said)  # fmt: skip
                yield Provoked("", text, None, VALIDATION, "", f"colander: {language} {number}")


def _python_validators() -> Iterator[Provoked]:
    """Yield messages of Marshmallow, Voluptuous, Cerberus and pydantic, in English."""
    import pydantic

    cerberus: Any = import_module("cerberus")
    m: Any = import_module("marshmallow")
    v: Any = import_module("voluptuous")

    class Order(m.Schema):  # type: ignore[misc]
        mail = m.fields.Email(required=True)
        count = m.fields.Int(validate=m.validate.Range(min=1))
        day = m.fields.Date()
        kind = m.fields.Str(validate=m.validate.OneOf(["a"]))
        name = m.fields.Str(required=True, validate=m.validate.Length(max=3))
        web = m.fields.Url()

    wrong = {"mail": "x", "count": 0, "day": "soon", "kind": "z", "web": "x", "more": 1}
    for field, texts in Order().validate(wrong).items():
        yield Provoked("", texts[0], None, VALIDATION, "", f"marshmallow: en {field}")
    for rule, value in ((v.Range(min=5), 1), (v.Email(), "x"), (v.In(["a"]), "z"),
                        (v.Length(min=3), "a"), (v.Coerce(int), "x"), (v.Date(), "x")):  # fmt: skip
        try:
            v.Schema(rule)(value)
        except v.Invalid as error:
            yield Provoked("", str(error), None, VALIDATION, "", "voluptuous: en")
    rules = {"a": {"type": "integer"}, "b": {"required": True}, "c": {"maxlength": 2},
             "d": {"allowed": ["x"]}, "e": {"min": 5}, "f": {"regex": "^a$"}}  # fmt: skip
    checker = cerberus.Validator(rules)
    checker.validate({"a": "x", "c": "abc", "d": "z", "e": 1, "f": "b"})
    for field, texts in checker.errors.items():
        yield Provoked("", f"{field}: {texts[0]}", None, VALIDATION, "", "cerberus: en")

    class Item(pydantic.BaseModel):
        count: int = pydantic.Field(gt=0)
        name: str = pydantic.Field(min_length=3)
        size: float
        link: pydantic.HttpUrl

    try:
        Item.model_validate({"count": -1, "name": "a", "link": "x"})
    except pydantic.ValidationError as failed:
        for said in failed.errors():
            yield Provoked("", said["msg"], None, VALIDATION, "", f"pydantic: en {said['loc'][0]}")
        text = re.sub(r"https://\S+", "…", str(failed))
        yield Provoked("ValidationError", text, None, VALIDATION, "", "pydantic: en all")
