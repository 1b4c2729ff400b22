"""What forms say of wrong input: Chromium's own words in several languages, and Django's."""

import os
from collections.abc import Iterator
from typing import Any

from playwright.sync_api import Playwright
from provoked import Provoked

FORM = """<form>
<input id=required required><input id=email type=email value=abc><input id=url type=url value=abc>
<input id=low type=number min=5 value=1><input id=high type=number max=5 value=9>
<input id=step type=number step=5 value=7><input id=pattern pattern="[0-9]{4}" value=ab>
<input id=check type=checkbox required><select id=choose required><option value="">-</select>
<input id=radio type=radio name=r required><input id=file type=file required>
<input id=day type=date min=2026-01-01 value=2025-01-01><textarea id=area required></textarea>
<input id=short minlength=5></form>"""
LANGUAGES = ("en-US", "zh-CN", "de", "ja", "fr", "es")


def browser_texts(playwright: Playwright, launch: dict[str, Any]) -> Iterator[Provoked]:
    """Yield Chromium's constraint validation messages (its language packs must be installed)."""
    for language in LANGUAGES:
        environ = {**os.environ, "LANGUAGE": language.replace("-", "_")}
        options = [*launch.get("args", []), "--headless=new", f"--lang={language}"]
        browser = playwright.chromium.launch(**{**launch, "args": options, "env": environ})
        page = browser.new_page()
        page.set_content(FORM)
        page.locator("#short").press_sequentially("ab")
        texts = page.evaluate(
            "() => [...document.querySelectorAll('input, select, textarea')]"
            ".map(field => [field.id, field.validationMessage])"
        )
        browser.close()
        for name, text in texts:
            if text:
                source = f"chromium: {language} {name}"
                yield Provoked("", text, None, "VALIDATION_ERROR", "", source)


def with_django() -> None:
    """Set Django up once, without a database."""
    import django
    from django.conf import settings

    if not settings.configured:
        settings.configure(USE_I18N=True, INSTALLED_APPS=[], DATABASES={}, ALLOWED_HOSTS=["*"])
        django.setup()


def django_texts() -> Iterator[Provoked]:
    """Yield Django's form and model errors, in English, Chinese, German and Arabic."""
    with_django()
    import django
    from django import forms
    from django.utils import translation

    class Form(forms.Form):  # type: ignore[misc]
        name = forms.CharField(max_length=3)
        code = forms.CharField(min_length=9)
        email = forms.EmailField()
        amount = forms.IntegerField(min_value=5)
        price = forms.DecimalField(max_digits=4, decimal_places=2)
        day = forms.DateField()
        at = forms.TimeField()
        size = forms.ChoiceField(choices=[("s", "S")])
        link = forms.URLField()
        slug = forms.SlugField()
        empty = forms.CharField()

    wrong = {
        "name": "abcdef", "code": "ab", "email": "abc", "amount": "1", "price": "12.345",
        "day": "31.02.2026x", "at": "25:99", "size": "xl", "link": "abc", "slug": "a b",
    }  # fmt: skip
    for language in ("en", "zh-hans", "de", "ar"):
        with translation.override(language):
            for field, errors in Form(wrong).errors.items():
                for text in errors:
                    source = f"django {django.__version__}: {language} {field}"
                    yield Provoked("", str(text), None, "VALIDATION_ERROR", "", source)
