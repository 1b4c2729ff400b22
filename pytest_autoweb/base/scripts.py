"""Scripts that people write in."""

import re
from functools import cache


@cache
def east_asian() -> re.Pattern[str]:
    """Return a pattern of one character of Chinese, Japanese or Korean text, or of its marks.

    Compiled when it is needed, which takes milliseconds: many pages have no such character.
    """
    return re.compile(
        "[\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef"
        "\U00020000-\U0003ffff]"
    )
