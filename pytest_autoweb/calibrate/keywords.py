"""Words that give a failure's type away, in English and Chinese; the last resort.

Patterns are tried from the most telling type to the most general one, so "already exists" counts
before "invalid". The eight lists hold the words of the seed's table and what real pages say beside
them.
"""

import re

from pytest_autoweb.results.calibration import FailureType

_ENGLISH: tuple[tuple[FailureType, str], ...] = (
    (
        "RESOURCE_CONFLICT",
        r"already (exists?|an active|have an active|added|in use|taken|registered)"
        r"|is already|conflict\w*|duplicate (key|entry|request|resource|name)|must be unique"
        r"|locked|modified (by|since)|precondition|changed (by|since)|in use by|stale",
    ),
    (
        "PERMISSION_ERROR",
        r"forbidden|unauthori[sz]ed|access denied|permission|not allowed to"
        r"|(not|only .*) (logged|signed) ?in|(log|sign) ?in (first|to)|csrf|credentials"
        r"|incorrect username|correct \w+ and password|account is (inactive|disabled|locked)"
        r"|token (has )?expired|session (has )?expired|api key|authenticat\w+|legal reasons"
        r"|signed in users|do not have access",
    ),
    (
        "DATA_NOT_FOUND",
        r"not found|no data|empty result|does ?n[o’']t exist|no \w+( \w+)? (found|matching)"
        r"|nothing matches|no results|no longer (exists|available)|could not find|no such"
        r"|gone\b|permanently|page not found|invalid page",
    ),
    ("SERVICE_UNAVAILABLE", r"service (is )?(temporarily )?unavailable|insufficient storage"),
    (
        "BUSINESS_ERROR",
        r"out of stock|no stock|in stock|stock available|not available|unavailable$|voucher"
        r"|coupon|basket|cart|cannot (delete|be (submitted|modified|deleted|cancelled|changed))"
        r"|not (permitted|eligible|active)|maximum of \d+ can|sold out|insufficient|expired"
        r"|payment|balance|state does not|not in a state|do not ship|must be selected in order"
        r"|business (error|rule)|exceeds your|limit reached for your",
    ),
    (
        "SERVICE_UNAVAILABLE",
        r"unavailable|time(d)? ?out|connection (refused|reset|closed|error)"
        r"|temporar\w+|try again later|overloaded|too many requests|rate limit|bad gateway"
        r"|gateway|server (error|got itself|had an error)|internal error|internal server"
        r"|insufficient storage|not enough space|upstream|network",
    ),
    ("PARAMETER_ERROR", r"ur[il] (is )?too long|request(-uri)? too (long|large)|not support"),
    (
        "VALIDATION_ERROR",
        r"validation|please (enter|fill|select|include|match|check|correct|lengthen|shorten|submit"
        r"|choose|use)|enter (a|the) \w+|ensure (this|that|the)|is required|required field"
        r"|field is required|field required|must be|not a valid|is not valid|not valid|valid choice"
        r"|select a valid|incorrect(ly)?|did(n[’']t| not) match|do(n[’']t| not) match"
        r"|unprocessable|too (short|long|small|big)|out of range|invalid (date|email|value|input)",
    ),
    (
        "PARAMETER_ERROR",
        r"parameter|argument|bad request|malformed|syntax|unsupported|not supported|not acceptable"
        r"|method not allowed|specified method|too large|too long|length required"
        r"|invalid (request|url|selector|format|json)|missing required|context length"
        r"|not implemented"
        r"|cannot (fulfill|satisfy|process)|range|media type|header|uri|entity|content-length"
        r"|expected .* got|invalid",
    ),
)
_CHINESE: tuple[tuple[FailureType, str], ...] = (
    (
        "RESOURCE_CONFLICT",
        r"冲突|已存在|注册|已被(占用|锁定)|重复(提交|添加)|唯一|已经?有|已经(添加|存在)|被他人修改"
        r"|锁定",
    ),
    (
        "PERMISSION_ERROR",
        r"权限|无权|禁止访问|未授权|未登录|没有登录|登录后|请(先)?登录|已登录的用户|未激活|CSRF|验证码已过期"
        r"|正确的.{0,12}密码|登录(已)?(过期|失效)|会话(已)?过期|拒绝访问",
    ),
    (
        "DATA_NOT_FOUND",
        r"未找到|找不到|不存在|没有找到|查无|没有任何(商品|结果|数据|记录)|没有符合|结果为空|页面没有|非法页面|无(匹配|结果|数据)|未发现",
    ),
    (
        "BUSINESS_ERROR",
        r"库存|缺货|售罄|优惠券|购物车|券|不能(删除|修改|提交|取消)|无法(删除|修改|取消)|不(被)?许可|不允许|业务"
        r"|状态不|流程|余额|最多(可以|只能|能)|不可(购买|用)|不快递|不配送|必须选中|已过期|资格|不能被",
    ),
    (
        "SERVICE_UNAVAILABLE",
        r"服务(不可用|器错误|繁忙)|超时|连接(失败|被拒)|稍后(再试|重试)|网络|服务器|系统繁忙"
        r"|过于频繁",
    ),
    (
        "VALIDATION_ERROR",
        r"验证失败|校验|必填|请(输入|填写|选择|选中|修改|确保|改正|更正|勾选|匹配|与|在|至少|将)|确保|输入(一个)?有效"
        r"|有效的|不(正确|一致|合法|匹配)|必须(大于|小于|是|为)|格式(错误|不)|无效|选择一个|提交最多|不得|确认|值必须"
        r"|字段是必|有效“",
    ),
    ("PARAMETER_ERROR", r"参数|缺少"),
)  # fmt: skip

_TABLE = [(name, re.compile(rf"\b(?:{words})", re.IGNORECASE)) for name, words in _ENGLISH] + [
    (name, re.compile(words)) for name, words in _CHINESE
]


def find(message: str) -> tuple[FailureType, str] | None:
    """The first type whose words occur, and the words; None when none do."""
    for failure_type, words in _TABLE:
        if hit := words.search(message):
            return failure_type, hit[0]
    return None
