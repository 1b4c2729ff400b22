"""The texts of catalogues in six languages, read from where their packages keep them.

Each source is a folder of the same name: an unpacked wheel or npm package, or a clone. The texts
stay with their owners; `catalogues.json` holds only the type of each message, under a hash of its
English text. They were labelled in English, before any rule looked at them and before a
translation was read, so that a message has the same type in all languages.
"""

import hashlib
import io
import json
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from babel.messages.pofile import read_po

LANGUAGES = ("en", "zh-Hans", "zh-Hant", "de", "fr", "es")
LABELS = Path(__file__).with_name("catalogues.json")
Texts = dict[str, str]
_HOLES = (
    (r"\{\w+, plural,(?:[^{}]|\{[^{}]*\})*?other\s?\{([^{}]*)\}\}", r"\1"),
    (r"#|\{\w+, number\}|%\[\d\]\w|%[qvsd]|%\(\w+\)[sd]|\$?\{\{?[^{}]{0,40}\}?\}", "3"),
    (r"(?<!\w):[a-z]+\b|<[^<>]{1,60}>", "3"),
)
"""What a program fills in: plurals, `%(name)s`, `{name}`, `:name`, `%s`, and markup."""
_LITERAL = r"((?:[^'\\]|\\.)*)"


def _po(path: Path) -> Texts:
    # Some headers hold dates that are none.
    plain = re.sub(rb'^"(POT-Creation|PO-Revision)-Date.*\n', b"", path.read_bytes(), flags=re.M)
    texts: Texts = {}
    for entry in read_po(io.BytesIO(plain)):
        if not entry.id or entry.fuzzy:
            continue
        # Where a text has a plural, all its forms are given: the last one is the plural.
        english = entry.id if isinstance(entry.id, str) else entry.id[0]
        said = entry.string if isinstance(entry.string, str) else (entry.string or [""])[-1]
        if default := re.search(r'Default: "(.*?)"', " ".join(entry.auto_comments)):
            english = default[1].strip()
        texts[english] = said or ""
    return texts


def _json(path: Path) -> Texts:
    read: dict[str, Any] = json.loads(path.read_text(encoding="utf-8-sig"))
    if len(read) == 1 and isinstance(own := next(iter(read.values())), dict):
        read = own
    return {key: said["string"] if isinstance(said, dict) else said for key, said in read.items()}


def _ini(path: Path) -> Texts:
    section, texts = "", {}
    for line in path.read_text(encoding="utf-8").splitlines():
        key, found, said = line.partition("=")
        if line.startswith("["):
            section = line
        elif found and not line.startswith((";", "#")):
            texts[section + key.strip()] = said.strip().strip('`"')
    return texts


def _php(path: Path) -> Texts:
    found = re.findall(rf"'{_LITERAL}' => '{_LITERAL}'", path.read_text(encoding="utf-8"))
    return {key.replace("\\'", "'"): said.replace("\\'", "'") for key, said in found}


def _cs(path: Path) -> Texts:
    return dict(re.findall(r'"(\w+)" => "((?:[^"\\]|\\.)*)"', path.read_text(encoding="utf-8")))


def _node(path: Path) -> Texts:
    """Read messages that are functions: `NAME.js` prints all of them as JSON, per language."""
    script = Path(__file__).with_name(path.parent.name + ".js")
    ran = subprocess.run(["node", script, path.parent], capture_output=True, check=True, text=True)
    read: dict[str, Texts] = json.loads(ran.stdout)
    return read.get(path.name, {})


_SOURCES: dict[str, tuple[Callable[[Path], Texts], str, tuple[str, ...]]] = {
    # Learnt from.
    "monica": (_json, "lang/{}.json", ("en", "zh_CN", "zh_TW", "de", "fr", "es")),
    "calibreweb": (_po, "calibreweb/cps/translations/{}/LC_MESSAGES/*.po",
                   ("", "zh_Hans_CN", "zh_Hant_TW", "de", "fr", "es")),
    "indico": (_po, "indico/translations/{}/LC_MESSAGES/*.po",
               ("", "zh_Hans_CN", "", "de_DE", "fr_FR", "es_ES")),
    "superset": (_po, "superset/translations/{}/LC_MESSAGES/*.po",
                 ("", "zh", "zh_TW", "de", "fr", "es")),
    "home-assistant": (_json, "hass_frontend/static/translations/**/{}-????????????????"
                       "????????????????.json", ("en", "zh-Hans", "zh-Hant", "de", "fr", "es")),
    "plone": (_po, "plone/app/locales/locales/{}/LC_MESSAGES/*.po",
              ("", "zh_CN", "zh_TW", "de", "fr", "es")),
    "fluentvalidation": (_cs, "src/FluentValidation/Resources/Languages/{}Language.cs",
                         ("English", "ChineseSimplified", "ChineseTraditional", "German", "French",
                          "Spanish")),
    # Measured.
    "gogs": (_ini, "conf/locale/locale_{}.ini",
             ("en-US", "zh-CN", "zh-TW", "de-DE", "fr-FR", "es-ES")),
    "saleor": (_json, "locale/{}.json",
               ("defaultMessages", "zh-Hans", "zh-Hant", "de", "fr", "es")),
    "jellyfin": (_json, "src/strings/{}.json", ("en-us", "zh-cn", "zh-tw", "de", "fr", "es")),
    "yii2": (_php, "messages/{}/yii.php", ("", "zh", "zh-TW", "de", "fr", "es")),
    "devextreme": (_json, "localization/messages/{}.json",
                   ("en", "zh", "zh-tw", "de", "fr", "es")),
    "ajv": (_node, "{}", ("en", "zh", "zh-TW", "de", "fr", "es")),
}  # fmt: skip


def labelled(root: Path, source: str) -> Iterator[tuple[str, str, str]]:
    """Yield the language, the filled-in text and the type of each labelled message, once each."""
    of_source = json.loads(LABELS.read_text(encoding="utf-8"))[source]
    types = {key: name for name, keys in of_source.items() for key in keys}
    every = [texts_of(root / source, source, at) for at in range(len(LANGUAGES))]
    english = every[0] or {key: key for texts in every[1:] for key in texts}
    seen = set()
    for language, texts in zip(LANGUAGES, (english, *every[1:]), strict=True):
        for key, said in texts.items():
            named = types.get(hashed(english.get(key, "")))
            if not named or not said or (language != "en" and said == english[key]):
                continue
            row = (language, filled(said), named)
            if row not in seen:
                seen.add(row)
                yield row


def texts_of(folder: Path, source: str, language: int) -> Texts:
    """Return the texts of a source in one language, by key, or by English text without keys."""
    read, pattern, names = _SOURCES[source]
    name = names[language]
    if not name:
        return {}
    if read is _node:
        return _node(folder / name)
    return {
        key: said
        for path in sorted(folder.glob(pattern.format(name)))
        for key, said in read(path).items()
    }


def hashed(english: str) -> str:
    """Return the name under which a message is labelled."""
    return hashlib.sha256(english.encode()).hexdigest()[:12]


def filled(said: str) -> str:
    """Return a message with something in place of what a program fills in."""
    for hole, value in _HOLES:
        said = re.sub(hole, value, said)
    return said.strip()
