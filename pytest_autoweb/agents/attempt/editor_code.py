"""Code that types into an editor, which takes keys and has no value of its own to be filled."""

import json

ALL = "ControlOrMeta+a"
"""The keys that select all of a text."""

# Such an editor indents each new line and closes brackets of its own accord, behind the cursor.
_LINE_BY_LINE = """\
for number, line in enumerate(TEXT.split("\\n")):
    if number:
        page.keyboard.insert_text("\\n")
        page.keyboard.press("Shift+Home")
    if line:
        page.keyboard.insert_text(line)
    elif number:
        page.keyboard.press("Delete")
page.keyboard.press("Control+Shift+End")
page.keyboard.press("Delete")"""


def typed_as_keys(focused: str, text: str, *, indents: bool, replaces: bool = True) -> str:
    """Return the code that types a text where the cursor is.

    Args:
        focused: the code that puts the cursor there, or selects what is to be replaced.
        text: what to type.
        indents: whether the editor indents each new line.
        replaces: whether an empty text deletes what is selected.
    """
    literal = json.dumps(text, ensure_ascii=False)
    if indents and "\n" in text:
        return f"{focused}\n{_LINE_BY_LINE.replace('TEXT', literal)}"
    if not text:
        return f'{focused}\npage.keyboard.press("Delete")' if replaces else focused
    return f"{focused}\npage.keyboard.insert_text({literal})"
