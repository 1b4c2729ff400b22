"""Words that indicate the type of a failure, in five languages, as the last resort.

The lists are tried in order, the specific before the general, so that "already exists" counts
before "invalid". They hold words of real applications, whose free text is the hardest to classify.
`docs/calibration.md` says how often it is understood for applications that were unknown when the
lists were written.
"""

import re
from collections.abc import Sequence

from pytest_autoweb.correct import european_words
from pytest_autoweb.results.correction import FailureType

_SERVICES: tuple[tuple[FailureType, str], ...] = (
    (
        "DATA_NOT_FOUND",
        r"models?\b.{0,60}(not (be )?found|not exist)|(invalid|unknown|no such) model|^model: \S+$"
        r"|模型.{0,12}(不存在|未找到)",
    ),
    (
        "BUSINESS_ERROR",
        r"billing|credit|balance|arrear|good standing|payment|insufficient (funds|quota)"
        r"|subscription|inappropriate|safety|content (polic|filter|management)|moderation"
        r"|prohibited|sensitive"
        r"|欠费|余额|充值|敏感|不安全|违规",
    ),
    (
        "PERMISSION_ERROR",
        r"api[- _]?key|(location|region|country)\b.*not supported|permission|unauthori|not authori"
        r"|member of|have access|身份|鉴权|认证|无权|token ?非法",
    ),
    (
        "PARAMETER_ERROR",
        r"(token|context|prompt|input|length|size)s?\b.{0,30}(limit|too (long|large)|exceed"
        r"|maximum)|exceed(s|ed)?\b.{0,30}(token|context|length|size|bytes)|unsupported"
        r"|not support|invalid|\bmust\b|should be|range of|grammar|pars(e|ing)\b"
        r"|参数|格式",
    ),
    (
        "SERVICE_UNAVAILABLE",
        r"memory|terminated|killed|crash|loading|exhausted|deadline|internal|capacity|并发|繁忙"
        r"|内部",
    ),
)
"""Words of model services, in which the same words mean other things than in a shop."""
_ENGLISH: tuple[tuple[FailureType, str], ...] = (
    (
        "VALIDATION_ERROR",
        r"^the [\w .]{1,40} field\b(?!.*(already|taken|unique|protected))|not included in"
        r"|attachment extension|file size|(on|in) a future date|can ?not be (earlier|later)"
        r"|domain not allowed",
    ),
    ("BUSINESS_ERROR", r"(supported|accepted|available) (by|in) (this|our) (store|shop|country)"),
    # Words about requests, which would mean something else in a shop.
    (
        "SERVICE_UNAVAILABLE",
        r"(request|call) (count|rate|limit)|refused to connect|server ip address",
    ),
    (
        "PARAMETER_ERROR",
        r"capacity limit|header fields?|(not|cannot) understand|method is not allowed"
        r"|invalid (search|query|base64|request)\b|(invalid|unknown"
        r"|missing) (required )?((query|request|url) )?(parameter|argument)",
    ),
    (
        "PERMISSION_ERROR",
        r"forbidden|unauthori[sz]ed|(access|permission) (is )?denied|permissions?\b"
        r"|not authori[sz]ed|(not|only .*) (logged|signed) ?in|(log|sign) ?in (first|to|and)\b"
        r"|(signed|logged) out|csrf|(?<!factor )authenticat(e|ion)\b|credentials"
        r"|(correct|invalid|wrong|incorrect) (user ?name|login)|log in with"
        r"|correct \w+ and password|(user ?name|login|e-?mail|phone)\W.*password.*(not|n['’]t)"
        r"|(account|user) (is )?(inactive|disabled|locked|suspended|blocked)"
        r"|(token|session|login) (has )?(expired|timed out)|api key|legal reasons"
        r"|signed in users|do(es)?( not|n['’]t) have (the )?(access|right|permission|privilege)"
        r"|not have the right|(need|must|have) to (confirm|verify|activate) your"
        r"|(need|must|have|please) (to )?(sign|log) ?(in|up)|account is not( yet)? \w+(ed|ive)"
        r"|(confirm|verify|activate) your (e-?mail|account)"
        r"|((session|token|login)\b.{0,12}|link has )expired"
        r"|account (has been |was |is )?(locked|suspended|banned|disabled|deactivated)"
        r"|password has expired|authenticity token|(user( ?name)?|account|login)( or "
        r"|/)password|activated your account|(sign|log) in (again|before|first)"
        r"|not allowed to (view|see|access|do|perform|use)"
        r"|(wrong|incorrect|invalid) (e-?mail|user ?name)( address)? (or|and/or) password"
        r"|(members|admins?|administrators) only|restricted",
    ),
    (
        "RESOURCE_CONFLICT",
        r"already (exists?|an active|have an active|added|in use|taken|registered|assigned"
        r"|reserved|active)|already been (taken|added|reserved|assigned|registered)"
        r"|already (connected|associated)|(you )?are already|already on|already (have|has)\b"
        r"|conflict\w*|must be unique|unique set|duplicate (key|entry|request|resource|name)"
        r"|\block(ed|s)\b|(modified|changed) (by|since (you|it was|then|the last))|precondition"
        r"|in use by|\bstale|someone else|another user|to be conditional"
        r"|(is|was|been) (already )?taken|(being|been) (edited|modified|changed) by"
        r"|changed since|while you were|already been (updated|changed|modified)",
    ),
    (
        "SERVICE_UNAVAILABLE",
        r"service (is )?(temporarily |no longer )?(un)?available$|insufficient storage"
        r"|service (is )?temporarily unavailable|service unavailable",
    ),
    ("DATA_NOT_FOUND", r"(does not exist|not found)[.!]?$|do(es)?n['’]t exist|no \w+ found"),
    (
        "VALIDATION_ERROR",
        r"did not match the|file ?type.{0,20}not allowed|fill (out|in) (this|the|all)|(tick"
        r"|check) this",
    ),
    ("PARAMETER_ERROR", r"ur[il] (is )?too long|request(-uri)? too (long|large)|not support"),
    (
        "BUSINESS_ERROR",
        r"out of stock|no stock|in stock|stock available|sold out|voucher|coupon|basket|\bcart\b"
        r"|(product|item|ticket|seat|combination|option)s?\b.*(not|no longer) available"
        r"|not available (for|in|to)|unavailable$|not (permitted|eligible|active)"
        r"|maximum of \d+ can|(insufficient|not enough) (funds|balance|credit|stock)"
        r"|already (been )?(used|paid|redeemed|cancel+ed|shipped|completed|closed|submitted"
        r"|processed|approved|refunded)|(has|is) expired|payment|balance|not in a state"
        r"|do not ship|must be selected in order|business (error|rule)|exceed(s|ing|ed)\b"
        r"|(can ?not|can['’]t|may not) (be )?(add|remove|delete|cancel|modify|change|edit|copy|move"
        r"|create|generate|deactivate|disable|pay|submit|refund|assign|rename|archive|close|reopen"
        r"|continue|use|leave|ban|invite|revers|resolve|run|start|stop)\w*|not possible (to|for)"
        r"|quantity .*at least|is protected|upgrade (the|your)|declined"
        r"|minimum (order|purchase|spend)|only \d+ (items? |pieces? |units? )?(left|remain"
        r"|available)"
        r"|(registration|sale|event|shop|store|offer|booking)s?\b.{0,40} (closed|over|ended)"
        r"|per (customer|order|person|account)|no longer be|fully booked|limit reached"
        r"|(reached|over) (the|your) .{0,20}limit|quota|insufficient|(is|are) not available"
        r"|(can ?not|can['’]t|may not) (be )?(return|emptied|ship|exchang|process|deliver"
        r"|destroy)\w*"
        r"|unable to (calculate|ship|deliver|refund|apply|add|remove)|not enough (inventory"
        r"|items|seats"
        r"|points|units)"
        r"|was not locked",
    ),
    (
        "DATA_NOT_FOUND",
        r"not found|no data|empty result|do(es)? ?(n[o’']t|not) exist|could not be found"
        r"|no \w+( \w+)? (found|matching)|nothing (matches|found)|no results"
        r"|no longer (exists|available)|(could|can) ?not find|no such|\bgone\b|permanently"
        r"|invalid (page|\w+ id)\b|not assigned to any|unknown (user|page|order|object|id)"
        r"|has been (deleted|removed)|(can ?not|can['’]t|couldn['’]t|could not|unable to) (be )?"
        r"(found|find|locate)|(did|do|does)( not|n['’]t) match any|no match(es|ing)?\b"
        r"|no (items|entries|records|orders|messages)\b|(does not|doesn['’]t) contain any"
        r"|nothing (here|to show|was found)",
    ),
    (
        "SERVICE_UNAVAILABLE",
        r"unavailable|tim(ed?|e-?) ?out|connection (refused|reset|closed|error|failed)"
        r"|connecting (with|to)|temporar\w+|try (it )?again later|overload(ed)?|throttled"
        r"|too (busy|many (requests|failed|attempts|operations))|rate limit|gateway"
        r"|(internal|server|unexpected) error|error occurred|server (got itself|had an error)"
        r"|server is busy|not enough space|upstream|network|maintenance"
        r"|went wrong.{0,40}(try|later)|went wrong on our"
        r"|try again (in|after) (a|an|\d|few|some|another)|(trouble|problem|unable|failed|can['’]t"
        r"|couldn['’]t|could not) (to )?(connect|reach|load)\w*|not respond|no response|offline"
        r"|down for|please wait|before (re)?trying|too many \w+( \w+)?",
    ),
    (
        "VALIDATION_ERROR",
        r"validation|please (enter|fill|select|include|match|check|correct|lengthen|shorten|submit"
        r"|choose|use|provide|specify|avoid)|enter (a|the) \w+|ensure (this|that|the)|is required"
        r"|required field|field (is )?required|must (be|type|contain|match|have|not|include|start"
        r"|end)|not a valid|(is|are) (not valid|invalid)|not valid|valid choice|select a valid"
        r"|incorrect(ly)?|(did|do|does)(n[’']t| not) match|may not be (blank|null|empty)"
        r"|can(not|['’]t| not) be (blank|null|empty|greater|less|before|after|in the)"
        r"|cannot (end|start|begin) before|no file|unprocessable|out of range|was invalid"
        r"|too (short|long|small|big|weak|common)|(type|address|value|name) (is )?not allowed"
        r"|need to (add|enter|choose|select)|wrong format|(must|should) consist"
        r"|invalid (date|e-?mail|value|input|number|password|code|ip|phone|choice|file|format"
        r"|character|color|\w+ address)|^required$|^invalid \w+[.!]?$|in the range"
        r"|should (be|have|match|contain|not)|seems to be|semantic"
        r"|is not (an?|one of) \w+|is not (numeric|alphanumeric)|unknown field|unallowed"
        r"|expected (an? )?(int|float|str|bool|date|list|dict|e-?mail|url|value"
        r"|\w+ address)\w*\b(?!.* got)"
        r"|(less|greater|longer|shorter|lower|higher|more|fewer|larger|smaller) than"
        r"|at (least|most) \d|(min|max)(imum)? (value|length)|(enter|only) (only|digits|letters)"
        r"|(may|can|must) only|(un)?equal to|(missing|empty) (value|data)"
        r"|wrong position|following '@'|^invalid( \w+){0,3}[.!]?$"
        r"|followed by|does not (satisfy|conform)|between \S+ and",
    ),
    (
        "PARAMETER_ERROR",
        r"parameter|argument|bad request|malformed|syntax|unsupported|not acceptable|invalid"
        r"|method not allowed|specified method|too large|length required|were supplied"
        r"|missing required|context length|not implemented|cannot (fulfill|satisfy|process)|range"
        r"|media type|header|\buri\b|entity|content-length|expected .* got",
    ),
    ("BUSINESS_ERROR", r"unable to|impossible|(can ?not|could not|can['’]t) (be )?\w+"),
    ("RESOURCE_CONFLICT", r"duplicate|already\b"),
    (
        "VALIDATION_ERROR",
        r"please (?!try|wait|contact|sign|log|refresh|reload)|this field|required"
        r"|(?<!went )wrong|mismatch|\bmust\b"
        r"|reserved|upload|too simple",
    ),
)
_CHINESE: tuple[tuple[FailureType, str], ...] = (
    (
        "PARAMETER_ERROR",
        r"参数(错误|格式|缺失|异常|无效|非法|不合法|不正确)|缺少(必填|必要|必需|参数|请求)"
        r"|无效(的)?参数"
        r"|参数.{0,12}(类型|缺失)|^类型不匹配$|非法(的)?(参数|请求)|无效的? ?(搜索|查询|请求"
        r"|base64)",
    ),
    (
        "VALIDATION_ERROR",
        r"违反|(文件|附件).{0,6}(大小|类型|格式)|不允许上传|将来|不能留空|不包含于|未经授权的值"
        r"|字段.{0,24}(禁止|接受)"
        r"|业务规则违反|不能为(负|空|零)",
    ),
    (
        "RESOURCE_CONFLICT",
        r"已被.{0,10}(用户|人|者)(更新|修改)|^已经?确认|已经?更新|已被(分配"
        r"|指派|绑定|占用)|您已.{0,16}注册",
    ),
    (
        "BUSINESS_ERROR",
        r"(正在)?使用.{0,6}(无法|不能)|未被?锁定|卡.{0,4}过期|不被.{0,6}支持"
        r"|已经?被?兑换",
    ),
    (
        "PERMISSION_ERROR",
        r"权限|无权|禁止访问|未(被)?授权|未登录|没有登录|登录后|退出登录|请(先|重新)?登录"
        r"|已登录的用户|未激活"
        r"|CSRF|(身份)?认证(信息|失败)|无法.{0,12}登录|正确的.{0,12}密码|(访问|许可)被?拒绝"
        r"|拒绝访问"
        r"|(用户名|邮箱|电子邮件|手机|账号).{0,8}密码.{0,3}(错误|不正确|不匹配)"
        r"|(登录|会话|令牌|验证码|token|身份|凭证|授权)(状态)?(已|信息)?(经)?(过期|失效|超时)"
        r"|([账帐][号户]|用户).{0,8}(禁用|停用|被锁|锁定|冻结|封禁|注销|异常)|签名|密钥|(确认"
        r"|验证|激活)(您|你)?的?[帐账][户号]|密码.{0,4}过期|恢复链接|验证令牌|(用户名"
        r"|[账帐][号户])(或|和|与|/)密码|联系管理员"
        r"|(请|需|先|要).{0,8}登[录陆入]|(或|和|与|/|及)密码.{0,4}(错误|不正确|无效|有误)"
        r"|登[录陆入]后|重新登[录陆入]|请登[录陆入]|未登[录陆入]|不允许访问|无访问|实名认证"
        r"|没有访问",
    ),
    (
        "VALIDATION_ERROR",
        r"(最多|最少|至少|至多|不超过|不少于|只能).{0,8}(字符|选项|数字|字母|位数)|字符长度"
        r"|长度(应|必须|不)"
        r"|(低于|高于|短于|长于|大于|小于|超过)最?(低|高|小|大|短|长)|应(该|当)?(在|为|是|介于"
        r"|大于|小于)",
    ),
    ("BUSINESS_ERROR", r"(券|票|卡)已(经)?被?使用|已(经)?被使用过"),
    ("DATA_NOT_FOUND", r"(?<!户)(?<!品)不存在|没有找到|未找到|找不到|无法找到"),
    (
        "RESOURCE_CONFLICT",
        r"冲突|已存在|已?经?注册|已?经?(被|在)(占用|锁定|使用|选|他人)|被(他人|其他人|另一个)"
        r"|重复(提交|添加|操作|请求)|并发修改|同名|已.{0,12}(添加到|加入)|(版本"
        r"|数据).{0,6}(已更新|不是最新|过期)|唯一|已有|已?经(添加|存在|有|在|激活)|锁定|已(关联"
        r"|连接|分配)到|已在",
    ),
    ("SERVICE_UNAVAILABLE", r"服务(暂时)?(不可用|不再可用|器错误|繁忙)"),
    (
        "BUSINESS_ERROR",
        r"库存|缺货|售罄|优惠券|购物车|券|不(被)?许可|不允许|业务|状态不|流程|余额|最多(可以"
        r"|只能|能)"
        r"|(不能|不可|无法|不得)(再|被|为)?.{0,10}(删除|修改|提交|取消|更改|改变|继续|购买|添加"
        r"|移除|创建|复制"
        r"|移动|停用|付款|生成|使用|支付|退款|编辑|关闭|分配|合并|运行)|不再可用|已不(再)?可用"
        r"|(产品|商品).{0,4}不可用|不快递|不配送|不提供服务|必须选中|被使用过|资格|(超出"
        r"|超过).{0,8}(限|最)"
        r"|限购|起购|起订|(活动|预售|报名|秒杀|抢购|投票).{0,6}(结束|未开始|截止|关闭|已满)"
        r"|名额|额度"
        r"|次数.{0,6}(用完|上限|不足)|(达到|已达|超出|超过).{0,6}上限|不支持(退|换|取消|配送)"
        r"|超出配送"
        r"|(数量|积分|资金|份额|剩余)不足|卖完|售完|停售|打烊|已发货|不满足.{0,8}条件"
        r"|最(大|小).{0,6}(超过|超出)|购买数量|已(经)?(过期|兑换|付款|使用|被?取消|完成|关闭"
        r"|发货|支付)",
    ),
    (
        "DATA_NOT_FOUND",
        r"不存在|查无|没有任何(商品|结果|数据|记录)|没有符合|结果为空|页面没有|(非法|无效)页"
        r"|无(匹配|结果|数据|此|该)|暂无|查询?不到|没有(查到|相关|搜索到|更多|数据|记录|任何)"
        r"|记录为空|条件过严"
        r"|空空如也|为空记录|未发现|不包含任何|未能找到|无任何|未分配给|(已)?被删除",
    ),
    (
        "SERVICE_UNAVAILABLE",
        r"超时|连接.{0,10}(失败|被拒|出错|错误)|稍后(再试|重试)|网络|服务器|系统繁忙|过于频繁"
        r"|内部错误"
        r"|限流|限速|维护|太多(请求|操作)|太?频繁|(秒|分钟|小时)(后|之后)(再|重)|稍[后候等]"
        r"|开小差|走神|崩溃"
        r"|网关|发生错误|无法连接|次数过多|请求过多|无响应|未响应|断开|加载失败|服务(器)?(异常"
        r"|出错|故障)|升级中"
        r"|繁忙",
    ),
    (
        "VALIDATION_ERROR",
        r"验证失败|校验|必填|确保|输入(一个)?有效|有效的|不(正确|一致|合法|匹配|相同|符合)|必须"
        r"|无效"
        r"|请(仅|只)?(输入|填写|选择|选中|修改|确保|改正|更正|勾选|匹配|与|在|至少|将|提供|上传"
        r"|避免)"
        r"|不(能|得)(为空|为 ?null|早于|晚于|大于|小于|结束|超过)|格式(错误|不)|选择一个|提交最多"
        r"|没有提交|确认|值必须|字段是必|有效“|错误(代码|的代码)|(代码|密码|验证码)错误"
        r"|类型不(被)?允许|不能结束"
        r"|字段出错|避免.{0,8}使用|必需|只能|不应|值不同|中的(任何)?一个|输入一系列|不是一个"
        r"|不是.{0,8}(数字|整数|日期|有效|合法|地址|文件)|之间"
        r"|(大于|小于|等于|低于|高于)|长度|强度|必选|必须|有误|格式|不合(法|规)|太(短|长|弱"
        r"|简单|小|大)"
        r"|过(短|长|大|小|于简单)|(仅|只)支持|不支持.{0,6}格式|不符|不能(包含|含有|使用)"
        r"|不可为空|未(填|选)"
        r"|保留(关键)?字|不(能|可)以|负数|需要?(填写|输入|提供)|上传失败|偶数|奇数|修正|非法"
        r"|请(勾选|阅读|同意|核对|检查|按|重新(输入|填写|选择))|非法(字符|输入)|超出.{0,4}范围"
        r"|位(数字|以上)",
    ),
    ("PARAMETER_ERROR", r"参数|缺少|错误的请求|无法满足|请求(格式)?(错误|有误)"),
    ("RESOURCE_CONFLICT", r"重复"),
    ("BUSINESS_ERROR", r"不足|下架|已结束|无法|不能|没有配置|需要付款|付款"),
    ("PERMISSION_ERROR", r"禁止|授权|过期"),
)

# Chinese is written without spaces, so its words have no borders that could be matched.
_TABLE = (*((name, rf"\b(?:{words})") for name, words in _ENGLISH), *_CHINESE)


def find_of_service(message: str) -> tuple[FailureType, str] | None:
    """Return the same as `find`, but for a message of a model service."""
    return _first(message, _SERVICES)


def find(message: str) -> tuple[FailureType, str] | None:
    """Return the first type whose words occur, and these words; None if there is none.

    The words of the message's own language are looked for first, because some words mean something
    else in another one; then those of English and Chinese, then those of the other languages.
    """
    own = european_words.language_of(message)
    order = [own, "", *(name for name in european_words.TABLES if name != own)]
    tables = (european_words.TABLES.get(name, _TABLE) for name in dict.fromkeys(order))
    return next((hit for table in tables if (hit := _first(message, table))), None)


def _first(
    message: str, table: Sequence[tuple[FailureType, str]]
) -> tuple[FailureType, str] | None:
    # The patterns are compiled, and kept by `re`, only when a message is looked at: all of them
    # together take a tenth of a second, and most sessions need none.
    for failure_type, words in table:
        if hit := re.search(words, message, re.IGNORECASE):
            return failure_type, hit[0]
    return None
