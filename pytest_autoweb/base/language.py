"""The language of sentences that describe a run, English or Chinese (`--autoweb-language`).

A stage notes what went wrong as a `StepProblem`. It becomes a line of text late: in the chosen
language for people, and in one fixed form for models. Chinese is the format of this program's
predecessor; it keeps the English words next to the Chinese ones.
"""

from typing import Literal, NamedTuple

Language = Literal["en", "zh"]


class Reason(NamedTuple):
    """A reason in both languages."""

    en: str
    zh: str

    def text(self, language: Language) -> str:
        """Return the reason on its own; the Chinese form includes the English one."""
        return self.en if language == "en" else f"{self.zh} ({self.en})"


NOT_ENOUGH = Reason("the collection is incomplete", "收集未完成")
BROWSER_FAILED = Reason("the browser failed", "浏览器出错")
NO_CODE_IN_REPLY = "the reply holds no code"
NO_CODE = Reason("no code in the reply", "未找到代码")
NO_STEPS = Reason("no steps in the reply", "未解析到任何步骤")
NOTHING_TO_ACT_ON = Reason("the page shows nothing to act on", "页面没有可操作元素")
NOT_OFFERED = Reason("not among the elements that were offered", "超出可用元素")
PLAN_ASKS = Reason("the plan needs input", "计划需要输入")
SAME_AGAIN = Reason("the repair repeats the failed script", "修复与原脚本相同")
REFUSED_BY_LINT = Reason("refused before it ran", "静态检查未通过")


class StepProblem(NamedTuple):
    """A problem and its place: the number of a step, or the name of a stage in brackets."""

    where: str
    en: str
    zh: str

    @classmethod
    def of(cls, where: str, reason: Reason, detail: str = "") -> "StepProblem":
        """Return the problem with a detail that is the same in both languages."""
        if not detail:
            return cls(where, reason.text("en"), reason.text("zh"))
        return cls(where, f"{reason.en}: {detail}", f"{reason.zh} ({detail})")

    @classmethod
    def quoted(cls, where: str, message: str) -> "StepProblem":
        """Return a problem in quoted words, such as the browser's."""
        return cls(where, message, message)

    def line(self, language: Language) -> str:
        """Return the problem as one entry of an attempt's `formatted_errors`."""
        if language == "en":
            return f"Step {self.where}: {self.en}"
        return f"步骤: {self.where}, 出错信息: {self.zh}"


NO_CODE_FOR_STEP = "no code found for this step"
NEVER_TOUCHED = "the script never touched the page and gave no answer"
_NO_CODE_FOR_STEP_ZH = "未找到步骤代码 (no code for this step)"


def step_failed(index: int, error: str) -> StepProblem:
    zh = _NO_CODE_FOR_STEP_ZH if error == NO_CODE_FOR_STEP else error
    return StepProblem(str(index), error, zh)
