"""The ids of all rules of the sandbox: those of the lint, of the level `strict` and of the border.

Each text describes what is refused. Messages name the offending code, and hints suggest
alternatives.
"""

LINT_RULES: dict[str, str] = {
    "AW001": "The code is not valid Python.",
    "AW002": "The code is too long, has too many parts or is nested too deeply.",
    "AW101": "A module is imported that is not on the list.",
    "AW102": "A name is imported from a listed module, but that name is not on its list.",
    "AW103": "`import *` or a relative import.",
    "AW104": "A browser or Playwright is started; the page is already open and called `page`.",
    "AW201": "A class is defined that is not a plain dataclass.",
    "AW202": "A decorator is used.",
    "AW203": "`async` or `await` is used; the step language is synchronous.",
    "AW204": "A generator function (`yield`) is defined.",
    "AW205": "A kind of statement or expression that the step language lacks.",
    "AW301": "A builtin that is not available.",
    "AW302": "A name with two leading underscores.",
    "AW303": "A given name (`page`, `expect`, `answer`, `log`) is rebound.",
    "AW304": "An attribute that nothing in the step language has.",
    "AW305": "An attribute is assigned or deleted.",
    "AW306": "`.format` on something that is not a plain literal.",
    "AW307": "A `while` loop that can never end.",
    "AW308": "A member of Playwright that generated code may not use.",
    "AW309": "A name of the step language that this cell does not offer.",
    "AW401": "A file name with a folder in it.",
    "AW402": "An address that is neither http nor https.",
}

STRICT_RULES: dict[str, str] = {
    "AW310": "A script for the page, at the level `strict`.",
}

BORDER_RULES: dict[str, str] = {
    "AW501": "The page is sent to an origin that the case does not allow.",
    "AW502": "A file name that is not a bare name, or an upload that the case does not list.",
    "AW503": "A secret is used where it may not be typed, or no secret has that name.",
    "AW504": "A call that is not on the list, or with arguments of a kind that may not pass.",
    "AW505": "The step made too many calls, wrote too much, or exchanged too much with its page.",
    "AW506": "The worker used up its memory or its processor time, or it died.",
    "AW507": "The worker broke the protocol.",
    "AW508": "The worker tried something that only the operating system can grant.",
    "AW509": "The step was still computing when its time was over, and was stopped.",
    "AW510": "The code runs a script in the page, at the level `strict`.",
    "AW511": "A value, a number or a pattern is larger or slower than what may pass.",
    "AW512": "A script or a pattern of the code ended the browser.",
}

RULES: dict[str, str] = LINT_RULES | STRICT_RULES | BORDER_RULES


class Refusal(Exception):
    """Raised when the border refuses a call; the step fails even if its code catches the error.

    Attributes:
        rule: the id of the border rule.
        reason: a sentence for the report and the repair prompt.
    """

    def __init__(self, rule: str, reason: str) -> None:
        self.rule, self.reason = rule, reason
        super().__init__(reason)
