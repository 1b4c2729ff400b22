"""Words that indicate the type of a failure, in five languages, as the last resort.

The lists are tried in order, the specific before the general, so "already exists" takes precedence
over "invalid". They hold words of real applications, whose free text is the hardest to classify.
`docs/calibration.md` gives the accuracy for applications that were unknown when the lists were
written.
"""

import re
from collections.abc import Sequence

from pytest_autoweb.correct import european_words, failure_families
from pytest_autoweb.correct.failure_families import WordsFound
from pytest_autoweb.results.record import FailureType

_SERVICES: tuple[tuple[FailureType, str], ...] = (
    (
        "DATA_NOT_FOUND",
        r"models?\b.{0,60}(not (be )?found|not exist)|(invalid|unknown|no such) model"
        r"|^model: \S+$|模型.{0,12}(不存在|未找到)",
    ),
    (
        "BUSINESS_ERROR",
        r"billing|credit|balance|arrear|good standing|payment|insufficient (funds|quota)"
        r"|subscription|inappropriate|safety|content (polic|filter|management)|moderation"
        r"|prohibited|sensitive|欠费|余额|充值|敏感|不安全|违规",
    ),
    (
        "PERMISSION_ERROR",
        r"api[- _]?key|(location|region|country)\b.*not supported|permission|unauthori"
        r"|not authori|member of|have access|身份|鉴权|认证|无权|token ?非法",
    ),
    (
        "PARAMETER_ERROR",
        r"(token|context|prompt|input|length|size)s?\b.{0,30}(limit|too (long|large)|exceed"
        r"|maximum)|exceed(s|ed)?\b.{0,30}(token|context|length|size|bytes)|unsupported"
        r"|not support|invalid|\bmust\b|should be|range of|grammar|pars(e|ing)\b|参数|格式",
    ),
    (
        "SERVICE_UNAVAILABLE",
        r"memory|terminated|killed|crash|loading|exhausted|deadline|internal|capacity|并发|繁忙"
        r"|内部",
    ),
)
"""Words of model services, where the same words mean something else than in a shop."""
_ENGLISH: tuple[tuple[FailureType, str], ...] = (
    # Messages worded in the same few ways everywhere come first.
    ("DATA_NOT_FOUND", r"there (is|are) no \w+ (with|corresponding|matching|that)|seem to find"),
    ("PARAMETER_ERROR", r"(malformed|invalid|bad) syntax"),
    (
        "BUSINESS_ERROR",
        r"(voucher|coupon|discount code|gift card)\b.{0,60}(already (?!exist)|previous)|(only"
        r"|not) .{0,20}\bonce\b(?! (every|a))|only (one|1) .{0,20}(available|left)|(can ?not"
        r"|can['’]t) be combined",
    ),
    (
        "SERVICE_UNAVAILABLE",
        r"(can ?not|can['’]t|could not|couldn['’]t|unable to|failed to) (reach|load|connect|send"
        r"|install|fetch|retrieve|contact|update search)\b|could not be sent|(failed|could not"
        r"|unable) (to )?(create|handle|add|load) .{0,60}(resource|error|again|memory)"
        r"|no internet|is down\b|back (up )?(soon|online)|attempt limit|there (was|is"
        r"|has been) (an? )?(\w+ )?(problem|issue|error)\b(?! (in|with) (the|this|your))"
        r"|an? (\w+ )?error (has |was )?(occurred|happened)|(unexpected|internal) (\w+ )?error"
        r"|error (happened|while|when|during)\b|(was|were) not \w+( in| out)?,? please try again"
        r"|(could not|failed to) (proceed|obtain|retrieve|process|contact|resolve)",
    ),
    (
        "RESOURCE_CONFLICT",
        r"value is already used|already (belongs|contains)|integrity error|unique constraint"
        r"|already (exists?|registered)\b|^\w+( \w+)? taken\b",
    ),
    (
        "PERMISSION_ERROR",
        r"account has been (blocked|banned|suspended)|been denied access|(identifier|login"
        r"|user ?name|e-?mail) or password\b|not allowed to (retrieve|list|create|add)\b"
        r"|must be (logged|signed) in|allow (\w+ )?access|(invite"
        r"|invitation)( link)?\b.{0,20}(invalid|expired)|(user|account) (is |was "
        r"|has been )(disabled|locked|suspended)|not permitted to (access|view)|(signed"
        r"|logged)[- ]in users|(logged|signed) in to\b|either sign in|access failed"
        r"|no authori[sz]ation|(api|access) token is incorrect|no longer a member|(login|log-?in"
        r"|sign-?in|authentication) (is )?(required|failed|denied)|privileges?\b|(seem"
        r"|appear) to be (logged|signed)|log you in|\bbanned\b|re-?authenticat"
        r"|not allowed (access|to (edit|delete|initiate))|(access|consent) (is )?(denied"
        r"|not allowed)|((?<!entered )token|(login|reset|recovery|invitation"
        r"|confirmation) link)s?\b.{0,40}(invalid|expired|not (valid|provided)|no longer)"
        r"|invalid (or expired )?(\w+ ){0,2}(token|link|signature)\b|^invalid user$"
        r"|session\b.{0,30}(not active|no longer|expired|not available)|no (login )?session"
        r"|not a member|guests?\b.{0,30}(disabled|not allowed|can ?not|can['’]t)|(e-?mail"
        r"|account)( address)? (has |is )?not (yet )?(been )?(yet )?(confirmed|verified"
        r"|activated)|account (has |is )?(temporarily )?(expired|disabled)|(e-?mail|user ?name"
        r"|login) (or|and) password\b.{0,30}(incorrect|invalid|wrong)|(can ?not|can['’]t) (log"
        r"|sign) ?in|your \S+ to (log|sign) ?in",
    ),
    (
        "VALIDATION_ERROR",
        r"too (high|low)\b|\bnot an? (json|list|array|valid|number|string)"
        r"|missing (\w+ )?(separator|value)|contains? invalid|(valid|invalid) json"
        r"|name cannot be used|no \w+ specified|(do not|don['’]t) include"
        r"|(some )?characters (are )?not allowed|^please (enter|choose|select|input) (?!.*(sign"
        r"|log) in|.*correct.*password)|(can ?not|can['’]t|may not|must not) be (a )?(negative"
        r"|higher|greater|larger|converted|blank|empty)|(can|may) only contain"
        r"|missing required (\w+ ){0,2}(fields?|values?|data)|not strong enough|(data leak"
        r"|data breach|breach)\b|^invalid (?!.*(parameter|argument|request|query|header|ur[li]"
        r"|json|api|search|base64|coupon|voucher|ticket)).*\b(number|code|barcode|string|id"
        r"|option|format)\b|minimum .{1,30} maximum|restrictions|out of bounds|empty (comment"
        r"|user ?name|name)|(?<!entity )(?<!fields )too large$|(?<!was )no \S+( \S+)? (was "
        r"|were )?(selected|provided|specified|submitted|uploaded|chosen|supplied)"
        r"|(?<!credentials were )not (provided|selected|specified|complex enough)|not select any"
        r"|missing (required )?(data|fields?|values?|e-?mail|(user ?)?name|password)\b|(file"
        r"|image|video|picture|attachment)s?\b.{0,40}(too (large|big|small)|not allowed)"
        r"|(characters|images|files|types?|extensions?|block \S+) (is|are) not allowed"
        r"|allowed (\w+ )?(types|extensions|formats|size)|invalid \w+ (type|extension|format)\b"
        r"|invalid (selection|option|choice|user ?name)s?\b(?!/| or)|following invalid"
        r"|too similar|too many (tags|choices|characters|digits|words|elements)|entirely numeric"
        r"|missing a\b|satisfy (at|one|all)|must be selected in order to",
    ),
    (
        "BUSINESS_ERROR",
        r"(hit|reached|exceeded) (its|the|one of its|your) .{0,30}limits?\b"
        r"|must be un\w+ed before|only be \w+ed to a single|(can ?not|can['’]t) (set"
        r"|be updated).{0,20}to (be )?less|not possible to re|only .{0,30}administrator"
        r"|(?<!is )(not|n['’]t) enough\b|only allowed to \w+ .{0,20}\bfor|maximum (amount"
        r"|number) of|(is|are) (currently )?disabled|^[\w ]+ disabled[.!]?$|^(?!method"
        r"|file ?type)[\w ]+ not allowed[.!]?$|at least one (owner|admin\w*)|read[- ]only|(only"
        r"|last|sole) (admin\w*|owner)\b|yourself|in use and can|(currently|still) (has|have"
        r"|manages?|associated|checked out|assigned|in use)",
    ),
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
        r"|invalid (search|query|base64|request)\b|(invalid|unknown|missing) (required )?((query"
        r"|request|url) )?(parameter|argument)",
    ),
    (
        "PERMISSION_ERROR",
        r"forbidden|unauthori[sz]ed|(access|permission) (is )?denied|permissions?\b"
        r"|not authori[sz]ed|(not|only .*) (logged|signed) ?in|(log|sign) ?in (first|to|and)\b"
        r"|(signed|logged) out|csrf|(?<!factor )authenticat(e|ion)\b|credentials|(correct"
        r"|invalid|wrong|incorrect) (user ?name|login)|log in with|correct \w+ and password"
        r"|(user ?name|login|e-?mail|phone)\W.*password.*(not|n['’]t)|(account"
        r"|user) (is )?(inactive|disabled|locked|suspended|blocked)|(token|session"
        r"|login) (has )?(expired|timed out)|api key|legal reasons|signed in users|do(es)?( not"
        r"|n['’]t) have (the )?(access|right|permission|privilege)|not have the right|(need|must"
        r"|have) to (confirm|verify|activate) your|(need|must|have|please) (to )?(sign|log) ?(in"
        r"|up)|account is not( yet)? \w+(ed|ive)|(confirm|verify|activate) your (e-?mail"
        r"|account)|((session|token|login)\b.{0,12}|link has )expired|account (has been |was "
        r"|is )?(locked|suspended|banned|disabled|deactivated)|password has expired"
        r"|authenticity token|(user( ?name)?|account|login)( or |/)password"
        r"|activated your account|(sign|log) in (again|before|first)|not allowed to (view|see"
        r"|access|do|perform|use)|(wrong|incorrect|invalid) (e-?mail|user ?name)( address)? (or"
        r"|and/or) password|(members|admins?|administrators) only|restricted",
    ),
    (
        "RESOURCE_CONFLICT",
        r"already (exists?|an active|have an active|added|in use|taken|registered|assigned"
        r"|reserved|active)|already been (taken|added|reserved|assigned|registered)"
        r"|already (connected|associated)|(you )?are already|already on|already (have|has)\b"
        r"|conflict\w*|must be unique|unique set|duplicate (key|entry|request|resource|name)"
        r"|\block(ed|s)\b|(modified|changed) (by|since (you|it was|then|the last))|precondition"
        r"|in use by|\bstale|someone else|another user|to be conditional|(is|was"
        r"|been) (already )?taken|(being|been) (edited|modified|changed) by|changed since"
        r"|while you were|already been (updated|changed|modified)",
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
        r"|(can ?not|can['’]t|may not) (be )?(add|remove|delete|cancel|modify|change|edit|copy"
        r"|move|create|generate|deactivate|disable|pay|submit|refund|assign|rename|archive|close"
        r"|reopen|continue|use|leave|ban|invite|revers|resolve|run|start|stop)\w*"
        r"|not possible (to|for)|quantity .*at least|is protected|upgrade (the|your)|declined"
        r"|minimum (order|purchase|spend)|only \d+ (items? |pieces? |units? )?(left|remain"
        r"|available)|(registration|sale|event|shop|store|offer|booking)s?\b.{0,40} (closed|over"
        r"|ended)|per (customer|order|person|account)|no longer be|fully booked|limit reached"
        r"|(reached|over) (the|your) .{0,20}limit|quota|insufficient|(is|are) not available"
        r"|(can ?not|can['’]t|may not) (be )?(return|emptied|ship|exchang|process|deliver"
        r"|destroy)\w*|unable to (calculate|ship|deliver|refund|apply|add|remove)"
        r"|not enough (inventory|items|seats|points|units)|was not locked",
    ),
    (
        "DATA_NOT_FOUND",
        r"not found|no data|empty result|do(es)? ?(n[o’']t|not) exist|could not be found"
        r"|no \w+( \w+)? (found|matching)|nothing (matches|found)|no results|no longer (exists"
        r"|available)|(could|can) ?not find|no such|\bgone\b|permanently|invalid (page|\w+ id)\b"
        r"|not assigned to any|unknown (user|page|order|object|id)|has been (deleted|removed)"
        r"|(can ?not|can['’]t|couldn['’]t|could not|unable to) (be )?(found|find|locate)|(did|do"
        r"|does)( not|n['’]t) match any|no match(es|ing)?\b|no (items|entries|records|orders"
        r"|messages)\b|(does not|doesn['’]t) contain any|nothing (here|to show|was found)",
    ),
    (
        "SERVICE_UNAVAILABLE",
        r"unavailable|tim(ed?|e-?) ?out|connection (refused|reset|closed|error|failed)"
        r"|connecting (with|to)|temporar\w+|try (it )?again later|overload(ed)?|throttled"
        r"|too (busy|many (requests|failed|attempts|operations))|rate limit|gateway|(internal"
        r"|server|unexpected) error|error occurred|server (got itself|had an error)"
        r"|server is busy|not enough space|upstream|network|maintenance|went wrong.{0,40}(try"
        r"|later)|went wrong on our|try again (in|after) (a|an|\d|few|some|another)|(trouble"
        r"|problem|unable|failed|can['’]t|couldn['’]t|could not) (to )?(connect|reach|load)\w*"
        r"|not respond|no response|offline|down for|please wait|before (re)?trying"
        r"|too many \w+( \w+)?",
    ),
    (
        "VALIDATION_ERROR",
        r"validation|please (enter|fill|select|include|match|check|correct|lengthen|shorten"
        r"|submit|choose|use|provide|specify|avoid)|enter (a|the) \w+|ensure (this|that|the)"
        r"|is required|required field|field (is )?required|must (be|type|contain|match|have|not"
        r"|include|start|end)|not a valid|(is|are) (not valid|invalid)|not valid|valid choice"
        r"|select a valid|incorrect(ly)?|(did|do|does)(n[’']t| not) match|may not be (blank|null"
        r"|empty)|can(not|['’]t| not) be (blank|null|empty|greater|less|before|after|in the)"
        r"|cannot (end|start|begin) before|no file|unprocessable|out of range|was invalid"
        r"|too (short|long|small|big|weak|common)|(type|address|value|name) (is )?not allowed"
        r"|need to (add|enter|choose|select)|wrong format|(must|should) consist|invalid (date"
        r"|e-?mail|value|input|number|password|code|ip|phone|choice|file|format|character|color"
        r"|\w+ address)|^required$|^invalid \w+[.!]?$|in the range|should (be|have|match|contain"
        r"|not)|seems to be|semantic|is not (an?|one of) \w+|is not (numeric|alphanumeric)"
        r"|unknown field|unallowed|expected (an? )?(int|float|str|bool|date|list|dict|e-?mail"
        r"|url|value|\w+ address)\w*\b(?!.* got)|(less|greater|longer|shorter|lower|higher|more"
        r"|fewer|larger|smaller) than|at (least|most) \d|(min|max)(imum)? (value|length)|(enter"
        r"|only) (only|digits|letters)|(may|can|must) only|(un)?equal to|(missing|empty) (value"
        r"|data)|wrong position|following '@'|^invalid( \w+){0,3}[.!]?$|followed by"
        r"|does not (satisfy|conform)|between \S+ and",
    ),
    (
        "PARAMETER_ERROR",
        r"parameter|argument|bad request|malformed|syntax|unsupported|not acceptable|invalid"
        r"|method not allowed|specified method|too large|length required|were supplied"
        r"|missing required|context length|not implemented|cannot (fulfill|satisfy|process)"
        r"|range|media type|header|\buri\b|entity|content-length|expected .* got",
    ),
    # A failed try is a fault; something that can never be done is a rule.
    ("SERVICE_UNAVAILABLE", r"unable to|could( not|n['’]t) (be )?\w+"),
    ("BUSINESS_ERROR", r"impossible|(can ?not|can['’]t) (be )?\w+"),
    ("RESOURCE_CONFLICT", r"duplicate|already\b"),
    (
        "VALIDATION_ERROR",
        r"please (?!try|wait|contact|sign|log|refresh|reload)|this field|required"
        r"|(?<!went )wrong|mismatch|\bmust\b|reserved|upload|too simple",
    ),
    (
        "SERVICE_UNAVAILABLE",
        r"(failed|error|unable)( to)? \w+|\w+ (failed|unsuccessful)|not successful|try again",
    ),
    (
        "DATA_NOT_FOUND",
        r"^no .{1,50}(results|match\w*|exist)\b|^you have no |^(no|unknown) \w+[.!]?$|is missing",
    ),
    ("PARAMETER_ERROR", r"^missing"),
    ("BUSINESS_ERROR", r"disabled|not allowed|not \w+able\b"),
)
_CHINESE: tuple[tuple[FailureType, str], ...] = (
    (
        "PARAMETER_ERROR",
        r"参数(错误|格式|缺失|异常|无效|非法|不合法|不正确)|缺少((必填|必要|必需)(?!的?(数据"
        r"|字段))|参数|请求)|无效(的)?参数|参数.{0,12}(类型|缺失)|^类型不匹配$|非法(的)?(参数"
        r"|请求)|无效的? ?(搜索|查询|请求|base64)",
    ),
    # Messages worded in the same few ways everywhere come first.
    ("BUSINESS_ERROR", r"(限制|上限)(之一)?。?$"),
    ("PARAMETER_ERROR", r"(语法|请求).{0,12}(语法|格式).{0,4}(错误|不正确)|语法错误.{0,12}请求"),
    ("BUSINESS_ERROR", r"券.{0,12}(使用|启用)|(使用|用)过.{0,4}券|只能.{0,6}一次"),
    (
        "DATA_NOT_FOUND",
        r"没有(与|匹配|符合)|没有.{0,8}对应|[没无]有?.{0,3}(搜索|搜寻|查询)?结果|没有.{0,16}符合"
        r"|没有(页面|发现|使用这个)|尚未注册|找不到|未找到|未知的?用户|用户未知|没有用户|(文件"
        r"|页面)丢失|无(?!效).{0,6}(?<!不)符合",
    ),
    (
        "SERVICE_UNAVAILABLE",
        r"无法(加载|载入|安装|传送|通过|更新搜|使用、)|预料之外的错误|稍待|太多次"
        r"|系统(资源)?限制|(正在|现在)关闭|离线|重新上线|(?<!登录)失败。?请重试|(出现|发生|遇到"
        r"|存在)了?(一[个些]|一点儿?)?(未知|意外|未预期|非预期|内部)?的?(错误|问题|故障)|(过程中"
        r"|时)出错|系统故障|未能(连|获取|处理|重置|加载|保存)|等待上传|[需须]?要?等待|次数过多"
        r"|(?<!付款)无法(解析|连接|处理(?!支付|付款)|发送|保存|重[设置]|继续|从|向|(将"
        r"|与).{0,16}(写入|传送|处理))",
    ),
    (
        "RESOURCE_CONFLICT",
        r"已经?包含|已经?被?.{0,8}(绑定|附加|拥有|添加过|用户使用)|已拥有|[必须]须?是唯一|已存在"
        r"|被链接到|已被确认|已经?是.{0,10}成员|[您你]已为|已经?被?(邀请|举报|登记|恢复|还原"
        r"|接受|归还|关联|连接至)|已经?[被遭别]?.{0,6}(注册|激活|启用|新增)|已提交[您你]的"
        r"|已经?存在|[您你]已.{0,8}书签|投过|用过",
    ),
    (
        "PERMISSION_ERROR",
        r"(需要|必须)登[录入].{0,3}才|[账帐]户已被.{0,6}(阻止|封)|未经过?认证|重新验证"
        r"|允许.{0,8}访问|(进行|完成)(认证|验证)|邀请.{0,3}(无效|过期)|访客不|授权令牌"
        r"|令牌的(密码|密钥)|访问失败|密码或.{0,3}邮.{0,6}(不正确|错误|无效)|不能访问"
        r"|登录的?用户才|只有登录|用户.{0,4}(禁用|停用|失效)|凭证错误|不再是.{0,6}成员"
        r"|登录后使用|(?<!管理员)权限|(后再?|进行|先)登[录陆入]|未登[录陆入]|(登[录陆入]"
        r"|会话).{0,6}(失败|失效|过期|超时|不再|不在)|没有会话|不是.{0,10}(成员|一员)"
        r"|((?<!输入的)令牌|凭证|凭据|链接).{0,8}(无效|过期|失效|未提供|不匹配|不再|不符)|(无效"
        r"|未提供|错误)的?.{0,8}(令牌|凭证|凭据|(?<!超)链接|登录)|未经授权(?!的值)"
        r"|签名.{0,4}无效|(尚未|还没有?|未)被?(确认|验证|激活|启用)|身份(验证|认证)|(确认|验证"
        r"|激活)[您你]的(电子|邮)|[账帐][号户].{0,6}(过期|禁用|停用)|不同意|许可(没有|未|被?拒)"
        r"|(访问|许可)被?拒|用户.{0,16}被锁|IP.{0,8}禁|(用户名|[账帐][号户])(或|和"
        r"|及).{0,6}(邮箱|邮件|密码).{0,6}(无效|错误)|重置.{0,6}(无效|过期)|正确的.{0,12}和密码"
        r"|无效的用户名(或|和)",
    ),
    (
        "VALIDATION_ERROR",
        r"不[能要]包含|(缺少|缺失).{0,4}(值|分隔|域)|(预料之外|未预期)的输入|不是 ?(list|列表"
        r"|数组|JSON)|非列表|名称不可|不能有?大写|使用该名称|是必[需要]|是不允许|不允许某些"
        r"|请(接受|阅读|审阅|再次选择)|[仅儘]能|不可超过|须(要)?(以|为|是|有)(?!唯一)|需要?(是"
        r"|为|匹配)|需要(一个)?[^登权付凭]{1,8}$|时需要|属性错误|验证错误|一定要|不能高于"
        r"|不能为?负|外泄|最小.{1,6}最大|转换为|附加限制|额外限制|超过了?允许|(缺少"
        r"|遗漏)(必[需要])?.{0,4}(元|中继)?(数据|字段)|空评论|密码不对|请(指定|填|输入|选择"
        r"|提供)|(没有|未|没).{0,5}(选择|选中|提供|指定|上传|填写|提交)|[没无]有?.{0,2}文件"
        r"|不(被)?允许(使用|是用)|(块|扩展名?|类型|格式|文件).{0,8}不被?允许|不允许.{0,4}(扩展"
        r"|类型|格式|空|重复)|不[能可得应](为|是)?.{0,5}(空|null)|(至少|最多|最少|不超过|不少于"
        r"|不能少于|不能超过|仅|只)要?(需要|应?包含|提交|可?选择?|能有|有)?.{0,2}\d"
        r"|(?<![响回反供对])应(该|当|为|仅|刚好|满足|匹配|不同|相[等同]|包含|至少|最多)"
        r"|需(要)?(符合|包含|两|同意)|(太|过)(宽|高|常见|相似|相近|大|小)|不够|黑名单|不一样"
        r"|超过范围|最[大小高低](值|长度|宽度|高度)?为?.{0,2}\d|字段.{0,3}(多余|缺失|预期)|泄露"
        r"|其一|仅可|缺少.{0,6}(数据|邮件|邮箱|字段|域名)|^输入|不能(全|与.{0,6}相同)|(必须"
        r"|需要).{0,4}选中|需要.{0,6}验证码|只可|重复输入",
    ),
    (
        "BUSINESS_ERROR",
        r"先解[封除]|(转移|转接)(到|给)|后.{0,4}才能|只能在.{0,16}(前|后|内)|(已|被)(禁用|停用"
        r"|关闭)|足够|只读|^禁用|唯一的管理员|至少一[名个位](组长|管理员|[所拥]有者)|仍(然"
        r"|旧)?(有|被|在|分配|为|处于)|(下|还)(关联的)?还?有其他|(与|被).{0,8}关联|上层|自己"
        r"|不允许注册|不可被",
    ),
    (
        "VALIDATION_ERROR",
        r"违反|(文件|附件).{0,6}(大小|类型|格式)|不允许上传|将来|不能留空|不包含于|未经授权的值"
        r"|字段.{0,24}(禁止|接受)|业务规则违反|不能为(负|空|零)",
    ),
    (
        "RESOURCE_CONFLICT",
        r"已被.{0,10}(用户|人|者)(更新|修改)|^已经?确认|已经?更新|已被(分配|指派|绑定|占用)"
        r"|您已.{0,16}注册",
    ),
    (
        "BUSINESS_ERROR",
        r"(正在)?使用.{0,6}(无法|不能)|未被?锁定|卡.{0,4}过期|不被.{0,6}支持|已经?被?兑换",
    ),
    (
        "PERMISSION_ERROR",
        r"权限|无权|禁止访问|未(被)?授权|未登录|没有登录|登录后|退出登录|请(先|重新)?登录"
        r"|已登录的用户|未激活|CSRF|(身份)?认证(信息|失败)|无法.{0,12}登录|正确的.{0,12}密码"
        r"|(访问|许可)被?拒绝|拒绝访问|(用户名|邮箱|电子邮件|手机|账号).{0,8}密码.{0,3}(错误"
        r"|不正确|不匹配)|(登录|会话|令牌|验证码|token|身份|凭证|授权)(状态)?(已"
        r"|信息)?(经)?(过期|失效|超时)|([账帐][号户]|用户).{0,8}(禁用|停用|被锁|锁定|冻结|封禁"
        r"|注销|异常)|签名|密钥|(确认|验证|激活)(您|你)?的?[帐账][户号]|密码.{0,4}过期|恢复链接"
        r"|验证令牌|(用户名|[账帐][号户])(或|和|与|/)密码|联系管理员|(请|需|先"
        r"|要).{0,8}登[录陆入]|(或|和|与|/|及)密码.{0,4}(错误|不正确|无效|有误)|登[录陆入]后"
        r"|重新登[录陆入]|请登[录陆入]|未登[录陆入]|不允许访问|无访问|实名认证|没有访问",
    ),
    (
        "VALIDATION_ERROR",
        r"(最多|最少|至少|至多|不超过|不少于|只能).{0,8}(字符|选项|数字|字母|位数)|字符长度"
        r"|长度(应|必须|不)|(低于|高于|短于|长于|大于|小于|超过)最?(低|高|小|大|短|长)|应(该"
        r"|当)?(在|为|是|介于|大于|小于)",
    ),
    ("BUSINESS_ERROR", r"(券|票|卡)已(经)?被?使用|已(经)?被使用过"),
    ("DATA_NOT_FOUND", r"(?<!户)(?<!品)不存在|没有找到|未找到|找不到|无法找到"),
    (
        "RESOURCE_CONFLICT",
        r"冲突|已存在|已经?注册|已被注册|已?经?(被|在)(占用|锁定|使用|选|他人)|被(他人|其他人"
        r"|另一个)|重复(提交|添加|操作|请求)|并发修改|同名|已.{0,12}(添加到|加入)|(版本"
        r"|数据).{0,6}(已更新|不是最新|过期)|唯一|已有|已?经(添加|存在|有|在|激活)|锁定|已(关联"
        r"|连接|分配)到|已在",
    ),
    ("SERVICE_UNAVAILABLE", r"服务(暂时)?(不可用|不再可用|器错误|繁忙)"),
    (
        "BUSINESS_ERROR",
        r"库存|缺货|售罄|优惠券|购物车|券|不(被)?许可|不允许|业务|状态不|流程|余额|最多(可以"
        r"|只能|能)|(不能|不可|无法|不得)(再|被|为)?.{0,10}(删除|修改|提交|取消|更改|改变|继续"
        r"|购买|添加|移除|创建|复制|移动|停用|付款|生成|使用|支付|退款|编辑|关闭|分配|合并|运行)"
        r"|不再可用|已不(再)?可用|(产品|商品).{0,4}不可用|不快递|不配送|不提供服务|必须选中"
        r"|被使用过|资格|(超出|超过).{0,8}(限|最)|限购|起购|起订|(活动|预售|报名|秒杀|抢购"
        r"|投票).{0,6}(结束|未开始|截止|关闭|已满)|名额|额度|次数.{0,6}(用完|上限|不足)|(达到"
        r"|已达|超出|超过).{0,6}上限|不支持(退|换|取消|配送)|超出配送|(数量|积分|资金|份额"
        r"|剩余)不足|卖完|售完|停售|打烊|已发货|不满足.{0,8}条件|最(大|小).{0,6}(超过|超出)"
        r"|购买数量|已(经)?(过期|兑换|付款|使用|被?取消|完成|关闭|发货|支付)",
    ),
    (
        "DATA_NOT_FOUND",
        r"不存在|查无|没有任何(商品|结果|数据|记录)|没有符合|结果为空|页面没有|(非法|无效)页"
        r"|无(匹配|结果|数据|此|该)|暂无|查询?不到|没有(查到|相关|搜索到|更多|数据|记录|任何)"
        r"|记录为空|条件过严|空空如也|为空记录|未发现|不包含任何|未能找到|无任何|未分配给"
        r"|(已)?被删除",
    ),
    (
        "SERVICE_UNAVAILABLE",
        r"超时|连接.{0,10}(失败|被拒|出错|错误)|稍后(再试|重试)|网络|服务器|系统繁忙|过于频繁"
        r"|内部错误|限流|限速|维护|太多(请求|操作)|太?频繁|(秒|分钟|小时)(后|之后)(再|重)"
        r"|稍[后候等]|开小差|走神|崩溃|网关|发生错误|无法连接|次数过多|请求过多|无响应|未响应"
        r"|断开|加载失败|服务(器)?(异常|出错|故障)|升级中|繁忙",
    ),
    (
        "VALIDATION_ERROR",
        r"验证失败|校验|必填|确保|输入(一个)?有效|有效的|不(正确|一致|合法|匹配|相同|符合)|必须"
        r"|无效|请(仅|只)?(输入|填写|选择|选中|修改|确保|改正|更正|勾选|匹配|与|在|至少|将|提供"
        r"|上传|避免)|不(能|得)(为空|为 ?null|早于|晚于|大于|小于|结束|超过)|格式(错误|不)"
        r"|选择一个|提交最多|没有提交|确认|值必须|字段是必|有效“|错误(代码|的代码)|(代码|密码"
        r"|验证码)错误|类型不(被)?允许|不能结束|字段出错|避免.{0,8}使用|必需|只能|不应|值不同"
        r"|中的(任何)?一个|输入一系列|不是一个|不是.{0,8}(数字|整数|日期|有效|合法|地址|文件)"
        r"|之间|(大于|小于|等于|低于|高于)|长度|强度|必选|必须|有误|格式|不合(法|规)|太(短|长|弱"
        r"|简单|小|大)|过(短|长|大|小|于简单)|(仅|只)支持|不支持.{0,6}格式|不符|不能(包含|含有"
        r"|使用)|不可为空|未(填|选)|保留(关键)?字|不(能|可)以|负数|需要?(填写|输入|提供)"
        r"|上传失败|偶数|奇数|修正|非法|请(勾选|阅读|同意|核对|检查|按|重新(输入|填写|选择))"
        r"|非法(字符|输入)|超出.{0,4}范围|位(数字|以上)",
    ),
    ("PARAMETER_ERROR", r"参数|缺少|错误的请求|无法满足|请求(格式)?(错误|有误)"),
    ("RESOURCE_CONFLICT", r"重复"),
    ("BUSINESS_ERROR", r"不足|下架|已结束|无法|不能|没有配置|需要付款|付款"),
    ("PERMISSION_ERROR", r"禁止|授权|过期"),
    ("SERVICE_UNAVAILABLE", r"(?<!操作)失败|时出错|重试"),
    ("BUSINESS_ERROR", r"不被允许"),
)

_READ = 4_000
"""Maximum number of characters of a message that are searched; a page may contain any number."""
_HAN = re.compile("[\u4e00-\u9fff]")
_TRADITIONAL = str.maketrans(
    "參蔘數錯誤異無閤確據請類蒐詢製語啟過隻沒與對應尋結頁麵發髮現這個箇註冊戶丟載裝傳預係繫統"
    "資關閉離線彔敗試齣點兒內問題時連獲穫處須鬚設繼續從嚮曏將寫經綁擁鏈認員為舉報記復複還歸聯"
    "別彆書簽籤纔賬帳証證驗許訪進權碼鈅鑰郵憑後陸會話輸電號衕鎖錶組稱該閱讀審選擇僅屬於負洩轉"
    "換額遺評論納稅塊擴響迴噹當剛滿兩寬見夠單樣範圍長餘給舊層違來業務規則脩佔兌絕機狀態凍銷實"
    "項沖衝並併暫庫貨優購車刪變買創動編輯運產遞訂殺搶開達積賣條嚴網絡頻維護鍾鐘潰斷昇陞級緻間"
    "強簡鍵覈檢檔欄階踰儲錄裡",
    "参参数错误异无合确据请类搜询制语启过只没与对应寻结页面发发现这个个注册户丢载装传预系系统"
    "资关闭离线录败试出点儿内问题时连获获处须须设继续从向向将写经绑拥链认员为举报记复复还归联"
    "别别书签签才账帐证证验许访进权码钥钥邮凭后陆会话输电号同锁表组称该阅读审选择仅属于负泄转"
    "换额遗评论纳税块扩响回当当刚满两宽见够单样范围长余给旧层违来业务规则修占兑绝机状态冻销实"
    "项冲冲并并暂库货优购车删变买创动编辑运产递订杀抢开达积卖条严网络频维护钟钟溃断升升级致间"
    "强简键核检档栏阶逾储录里",
)
"""The characters of the words above that are written differently in Taiwan and Hong Kong."""
_TAIWAN = {
    "使用者": "用户",
    "用户名称": "用户名",
    "伺服器": "服务器",
    "登入": "登录",
    "登出": "退出登录",
    "帐号": "账号",
    "档案": "文件",
    "栏位": "字段",
    "字元": "字符",
    "遭": "被",
    "身分": "身份",
    "选取": "选择",
    "回应": "响应",
    "副档名": "扩展名",
    "留白": "为空",
    "签章": "签名",
    "寄送": "发送",
    "工作阶段": "会话",
    "逾时": "超时",
    "逾期": "过期",
    "到期": "过期",
    "连线": "连接",
    "存取": "访问",
    "资料": "数据",
    "储存": "保存",
    "建立": "创建",
    "权杖": "令牌",
    "连结": "链接",
    "支援": "支持",
    "信箱": "邮箱",
    "介于": "在",
    "相符": "匹配",
    "变更": "更改",
    "群组": "小组",
    "网路": "网络",
    "透过": "通过",
    "请再试一次": "请重试",
    "再试一次": "重试",
}
"""Words for the same things in Taiwan, once their characters are simplified."""

_TABLES: dict[str, Sequence[tuple[FailureType, str]]] = {
    "": [(name, rf"\b(?:{words})") for name, words in _ENGLISH],
    # Chinese is written without spaces, so its words have no boundaries to match.
    "chinese": _CHINESE,
    **european_words.TABLES,
}


def find_of_service(message: str) -> WordsFound | None:
    """Return the same as `find`, but for a message of a model service."""
    return _first(message, _SERVICES)


def find(message: str) -> WordsFound | None:
    """Return the first type whose words occur, with these words; None if there is none.

    Application-independent phrases are clear. Other words are clear if they make up most of the
    message, or if their weights agree.

    The words of the message's own language are searched first, because some words mean something
    else in another one; then those of English and Chinese, then those of the other languages.
    Chinese is normalised to simplified characters and mainland words. The weights decide where no
    list matches, or where they clearly indicate another type.
    """
    message = message[:_READ]
    own = "chinese" if _HAN.search(message) else european_words.language_of(message)
    if own == "chinese":
        message = of_mainland(message)
    if re.fullmatch(failure_families.SAYS_NOTHING, message, re.IGNORECASE):
        return None
    if told := _first(message, failure_families.TABLES[own]):
        return told
    tables = (_TABLES[name] for name in dict.fromkeys((own, *_TABLES)))
    listed = next((hit for table in tables if (hit := _first(message, table))), None)
    return failure_families.weigh(message, own == "chinese", listed)


def of_mainland(message: str) -> str:
    """Return a Chinese message in simplified characters, with mainland words."""
    message = message.translate(_TRADITIONAL)
    for theirs, ours in _TAIWAN.items():
        message = message.replace(theirs, ours)
    return message


def _first(message: str, table: Sequence[tuple[FailureType, str]]) -> WordsFound | None:
    # The patterns are compiled, and cached by `re`, only when a message is classified: compiling
    # all of them takes a tenth of a second, and most sessions need none.
    for failure_type, words in table:
        if hit := re.search(words, message, re.IGNORECASE):
            return WordsFound(failure_type, hit[0])
    return None
