"""Application-independent message classification: families of phrases, and weights of words.

The lists in `failure_words` and `european_words` hold words of particular applications. A family is
a type of statement (who may, there is no such, somebody was faster), with its stems and negations
and a slot for its subject, so it is searched for before them. `docs/calibration.md` gives its
accuracy.

Most messages of an unknown application use other phrases. Their words still lean towards some type,
and the sum of their weights decides where no list does, or where it clearly contradicts a list.
`failure_weights.json` holds the weights, which `benchmarks/learn_weights.py` learns from labelled
messages in five languages.
"""

import json
import math
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from pytest_autoweb.results.record import FailureType

_ENGLISH: tuple[tuple[FailureType, str], ...] = (
    (
        "PARAMETER_ERROR",
        r"(unknown|unrecogni[sz]ed|unexpected|duplicate) (\w+ )?(parameter|argument|header"
        r"|property|field [\"'`]\w+[\"'`] ?(\(|on|in))|(required|missing) (\w+ )?(parameter"
        r"|argument|header)|(parameter|argument|header)s? .{0,40}(is missing|not present"
        r"|expected|unknown)|(malformed|invalid|bad) (json|xml|request) (body|payload)"
        r"|cannot query field|(could(n['’]t| not)|cannot|failed to|unable to) (parse|decode"
        r"|deserialize) .{0,20}(json|body|payload|request|xml|yaml)|no route matches"
        r"|unsupported (api |protocol |schema )?version|parameter\b.{0,20}(must be|out of range"
        r"|is invalid|should be)|^(sort|order|filter|limit|offset|page)\w* must be|invalid (enum"
        r"|channel|resource|entity) type"
        r"|invalid (method|param(eter)?s?|arguments?)\b"
        r"|invalid (or missing )?(?!e-?mail)[\w\'\"`-]+ param(eter)?s?\b|(unknown|invalid) (action"
        r"|command|operation)\b|available (actions|commands):",
    ),
    (
        "SERVICE_UNAVAILABLE",
        r"((is|are|was|does|did)( not|n['’]t)|stopped|not) respond\w*|no (answer|reply"
        r"|response) from|on our (end|side)|(team|engineers|administrators?) (has"
        r"|have) been (notified|informed)|heavy load|(high|heavy) traffic|technical difficult\w+"
        r"|check your (internet|network|connection)|took too long|connection (\w+ ){0,2}(reset"
        r"|lost|interrupted|dropped|aborted)|rate[- ]limit|too many requests|retry after"
        r"|(can ?not|can['’]t|could not|couldn['’]t|unable to) .{0,60}(at the moment|right now"
        r"|at this time)|not available right now|(is|are) (currently |temporarily )?(offline"
        r"|down|unreachable)|because of an? (\w+ )?(network|server|connection"
        r"|technical) (problem|error|issue)|lost connection|(fetch|sync) failed"
        r"|responded with (a |an )?(status|error|code)|(external|remote|upstream"
        r"|third[- ]party)\b.{0,20}(response|reply) (is|was) (not valid|invalid|empty)",
    ),
    (
        "RESOURCE_CONFLICT",
        r"(just|moments? ago|meanwhile|in the meantime|since you|while you) .{0,60}(booked|taken"
        r"|reserved|changed|edited|modified|updated)|(booked|taken|reserved|changed|edited"
        r"|modified|updated|locked|opened|checked out) (for \w+ )?by (another|someone|somebody"
        r"|a different|other|[A-Z]\w+)|(someone|somebody|another (user|person|customer|editor"
        r"|process|session|device|tab)) (else )?(is |has |was |have )?(already |just )?(edit"
        r"|chang|book|reserv|tak|lock|updat|modif|using)\w*|another .{0,30}(already )?(running"
        r"|in progress)|already (running|in progress|being)|(edit|merge|version"
        r"|write)[- ]conflict|(destination|target) .{0,12}exists|no longer (free|vacant)"
        r"|e-?mail\b.{0,20}\b(already|been) (registered|taken)|(another|other|different) (tab"
        r"|window|device|browser)|(given|assigned|sold|allocated) to (another|someone|somebody)"
        r"|(copy|version|data|page|draft)( \w+)? (is|are) (out of date|outdated|stale"
        r"|no longer current)|(get|load) the latest version|\b(backup|import|export|sync\w*"
        r"|migration|deployment|build|update|job|upgrade|scan|restore) (is )?(already "
        r"|currently |still )?(in progress|running)|already (handling|handled|accepted|claimed"
        r"|assigned|pending)|already (in (your|the) list|signed up)|already pending|(merge"
        r"|merged) .{0,30}conflict|has since been|in the meantime",
    ),
    (
        "PERMISSION_ERROR",
        r"(restricted|reserved|available|open|visible|accessible) (only )?(to|for) (\w+ )?(admin"
        r"|member|owner|staff|subscriber|moderator|employee|registered|logged)\w*"
        r"|only .{0,20}(admin\w*|owners?|members?|moderators?|staff|managers?|editors?|creator"
        r"|author)\b.{0,12}\b(can|may|are allowed|is allowed)|(admin\w*|members?|staff) only\b"
        r"|(e-?mail|user ?name|login)\b.{0,10}( or | and |/)(the |your )?password\b.{0,25}(wrong"
        r"|incorrect|invalid|not (correct|match|recogni))|account (is|was"
        r"|has been) (\w+ )?(locked|suspended|blocked|banned|disabled|deactivated)\b|(confirm"
        r"|verify|activate) (your|the) .{0,12}(e-?mail|account)|(can|may) only (edit|delete"
        r"|change|view|see|remove|manage|cancel) (your|their) own|(is|are) private\b"
        r"|\bpin\b.{0,20}(wrong|incorrect|invalid)|(wrong|incorrect|invalid) (pin|passcode"
        r"|credentials)\b|\d (attempts?|tries) (remaining|left)|(your )?(role|group"
        r"|account type) (does|do)(n['’]t| not) allow|unknown device|approve this (login"
        r"|sign-?in)|(verification|confirmation|activation|magic) link\b.{0,40}(used|expired"
        r"|invalid)|log(ged)? ?out|sign(ed)? ?out|(due to|because of) inactivity|(sign"
        r"|log) in (with|through|using) your|(not|n['’]t) (been )?(invited|approved"
        r"|authori[sz]ed) to\b"
        r"|^not (allowed|permitted)\W*$|log-?in .{0,24}\bblocked\b|(user|account|e-?mail) not found"
        r" or\b.{0,20}password|^(your |the )?password (is|was) (wrong|incorrect)",
    ),
    (
        "BUSINESS_ERROR",
        r"(only|just) (\d+|one|two|three|a few) .{0,20}(left|remaining|in stock)|(balance|credit"
        r"|points|funds)\b.{0,20}(too low|insufficient|not (enough|sufficient))"
        r"|insufficient (funds|balance|credit|points|stock)|only (possible|allowed) (with)?in\b"
        r"|no longer (possible|be (\w+ )?(chang|cancel|edit|refund|return|modif)\w*)"
        r"|(already )?been (redeemed|shipped|refunded)|(your|current|free) (plan|subscription"
        r"|package|tier|licen[cs]e)\b.{0,12} (not|n['’]t) (include|allow|support|cover)|(limited"
        r"|limit) (to|of) (one|two|\d+) per\b|(registration|voting|enrol\w*|poll|sale|sales"
        r"|submissions?)\b.{0,30}(closed|ended|not yet open)|was declined|(last|only) remaining"
        r"|cannot be (completed|closed|deleted|cancelled|canceled) (while|until|because|after"
        r"|before)|already (voted|reviewed)|you (already|still) have (an?|your"
        r"|\d) (\w+ )?(appointment|booking|reservation|loan|application|subscription|membership)"
        r"|(must|have to|need to) (finish|complete|pass|pay|cancel|return|close"
        r"|verify) .{1,50} (before|first)\b|(have|has) used (all|up) (your|the)|(not"
        r"|n['’]t) (offered|available|delivered|provided) (in|on|to|for) (your|this|that|the|sun"
        r"|mon|holi)\w*|requires? (a|an) (\w+ )?(prescription|deposit|membership|subscription"
        r"|upgrade|approval)|open balance|(can ?not|can['’]t"
        r"|can no longer) be (?!upload)\w+ (once|after|while|until|on)\b|(above|over|below"
        r"|under) [\d$€£.,]+ .{0,30}(must|can ?not|only)|(is|are) not enabled for"
        r"|has (already )?(ended|finished|closed)\b|(does not|no longer) accepts? new|(daily"
        r"|monthly|weekly|hourly|free) .{0,20}(limit|quota)|paid plans?|fully booked"
        r"|^(error\W+)?(the |this )?\w+( \w+)? is (not |already )?(on hold|closed|open|archived"
        r"|locked"
        r"|paused|completed|finished|cancel+ed|published)\W*$|must be \w+ (before"
        r"|prior to) (?!\d)\w+ing\b"
        r"|(last|only) (owner|administrator)|(premium|enterprise|professional|paid)( \w+)? (plans?"
        r"|feature)\b|(sharing|posting|uploading|commenting|editing) (is |are )?(not allowed"
        r"|disabled"
        r"|blocked) (in|on|for)\b"
        r"|(not|n[’']t) licensed (for|to)\b|must be in .{1,30} (state|status)\b"
        r"|no longer (shared|offered)",
    ),
    (
        "DATA_NOT_FOUND",
        r"there(['’]s| is| are) (currently )?no \w+( \w+)? (associated|with|for|matching|called"
        r"|named|registered)|no \w+( \w+)? (is |was |are |were )?(associated|match\w*|called"
        r"|named|by that)|never existed|(may|might|could) have been (moved|removed|deleted)"
        r"|no longer exists?|(nothing|none) (was )?(found|matches)|broken link|(does|did"
        r"|do)(n['’]t| not) exist\b|(has|was|been) (deleted|removed) (or|by its)|no (record"
        r"|trace|information|data) (of|for|about|on)\b|(is|are|was) gone\b|(has"
        r"|have) been (disbanded|discontinued|withdrawn|taken down)|(unable to|could not"
        r"|couldn[’']t|can ?not) (find|locate)\b|isn['’]t here|no(body"
        r"| one)\b.{0,12}(with|by|called|named) |no \w+( \w+)? (were|was|could be) (found"
        r"|located)",
    ),
    (
        "VALIDATION_ERROR",
        r"(does|do)(n['’]t| not) look like|(limited|restricted) to \d+ (character|digit|word"
        r"|letter)s?|wrong (number|amount) of (digits|characters|letters)|captcha|(agree|accept"
        r"|consent) (to )?(the|our|these|all) (terms|conditions|privacy|rules|polic\w+)"
        r"|(unsupported|recogni[sz]ed|correct|right) (file )?(format|type)|(can ?not|can['’]t"
        r"|must not) be (left )?(empty|blank)|has to be (a|an|at|in|between|after|before|greater"
        r"|less|positive)\b|(consist|be made up) (only )?of (spaces|blanks|digits)|(pick|choose"
        r"|select|give|add|attach|upload|enter) (an?|your|at least|the) .{1,40}(before"
        r"|to) (you )?(submit|continu|proceed|send|sav)\w*|^(please )?(attach|upload|pick|choose"
        r"|add) (an?|your|at least)|(is|are) not a (number|valid)|(do|does) not allow disposable"
        r"|(file|image) type (is )?not (supported|allowed)|(date )?range cannot exceed"
        r"|shorten (it|your)|addresses (differ|do not match)|invalid (currency|attachment"
        r"|verification code)"
        r"|(message|file|text|body|name|title) (size|length) exceeds|password (has been |was |is )?"
        r"((previously|already|recently) used|(the )?same as)|(does|do)(n[’']t"
        r"| not) meet\b.{0,30}(policy"
        r"|requirements?|criteria|rules)|(need|have) to (write|enter|type|fill)"
        r"|please (add|provide|enter|specify|include) (either|at least|both)\b",
    ),
)
_CHINESE: tuple[tuple[FailureType, str], ...] = (
    (
        "PARAMETER_ERROR",
        r"(请求体|请求头|请求参数|入参|报文).{0,16}(不是|非法|缺|错误|无效|未知|不合法|有误"
        r"|不支持)|参数.{0,12}(非法|不合法|无效|缺失|未知)|(缺少|缺失|未知|非法"
        r"|多余)的?.{0,4}(参数|请求头|header|[\w-]+ ?头)|无法解析.{0,6}(请求|参数|报文|JSON)"
        r"|不支持的?请求?(方法|媒体)|不存在的(接口|方法)|(接口|方法)不存在|不支持的(接口|API"
        r"|协议)?版本|参数.{0,6}(只能|必须|应|超出|不支持)|错误的请求$"
        r"|^无效的?(请求)?方法"
        r"|请求[中里].{0,16}(为空|缺|没有)|无效的?\s?[\w-]+\s?参数|未知的?.{0,14}(操作|命令|动作|指令)",
    ),
    (
        "SERVICE_UNAVAILABLE",
        r"无响应|没有(响应|回应|应答)|抢修|人数过多|拥挤|网络(异常|错误|不给力|繁忙|中断|波动)"
        r"|(服务|服务器|接口)(异常|错误|繁忙|开小差|故障)|(连接|数据库).{0,8}(失败|超时|中断"
        r"|重置)|(暂时|目前|当前|现在)(无法|不能).{0,10}(处理|加载|连接|访问|完成|提供)"
        r"|与.{1,10}连接.{0,3}(断开|中断|丢失)|(加载|同步|刷新)失败|停机维护|调用.{0,8}(超时"
        r"|失败)"
        r"|(外部|第三方|远程|上游)服务.{0,4}(响应|返回).{0,4}(无效|错误|异常)|(响应|返回)的?(状态码|错误码)"
        r"|(收到|得到|返回).{0,3}(无效|错误|异常)的?(回复|响应|应答)",
    ),
    (
        "RESOURCE_CONFLICT",
        r"(已经?|刚刚?|刚才)?被.{0,3}(他人|其他|别人|另一|别的).{0,8}(修改|更新|编辑|选|订|定|抢"
        r"|占|锁|使用)|正(在)?被.{0,10}(编辑|使用|占用|打开|修改)|正在.{0,6}(执行|运行|处理"
        r"|编辑).{0,6}(勿|不要|不能|不可)|请勿重复|[段位座].{0,6}已.{0,3}(约|订|占|定)"
        r"|有(更)?新(的)?版本|(唯一|主键)性?约束|(邮箱|手机号?|用户名|昵称|账号)已经?(被?注册"
        r"|存在|被?占用|被?使用)|(另一个?|其他)(窗口|标签页|设备|页面)|分配给(其他|别的|他人)"
        r"|已有(此|该|相同|这个)|(版本|数据|内容).{0,4}(不是最新|已过时|已更新)|(备份|导入|导出"
        r"|同步|迁移|部署|更新|升级)(任务)?(正在|仍在)(进行|执行|运行)|已被(接受|认领|领取)"
        r"|^已经?(请求|申请)过?",
    ),
    (
        "PERMISSION_ERROR",
        r"仅(限|对)?.{0,8}(管理员|会员|成员|所有者|员工|注册用户|作者|本人).{0,4}(可|能|才|开放"
        r"|使用|访问|查看|操作)|只有.{0,10}(管理员|会员|成员|所有者|作者|本人).{0,4}(可|能)|(仅"
        r"|只)对.{0,8}开放|(链接|邀请).{0,6}(失效|过期|无效)|(账|帐)[号户].{0,3}(冻结|锁定|封)"
        r"|只能.{0,4}(编辑|修改|删除|查看|取消)自己|(为|是)私密|私密(相册|内容|文档)"
        r"|密码错误.{0,3}(还可|还有|还剩|剩余)|(支付|登录|交易)密码.{0,4}(错误|不正确)"
        r"|无.{1,6}权限|(已|自动|强制)退出登录|邀请码.{0,4}(无效|过期|错误)|(使用"
        r"|用).{1,10}账号登录后|陌生设备|未知设备"
        r"|^(不允许|禁止|无权)(访问|操作)?\W*$"
        r"|[账帐]号.{0,14}被?(锁定|冻结|停用|禁用|封禁)|(确认|验证|激活|注册|重置|邀请|登录).{0,6}链接.{0,4}(失效|过期|超时|无效)"
        r"|(无效|非法|过期|失效)的?.{0,10}链接|\bCORS\b|跨域|未(提供|出示).{0,4}(证书|凭证|凭据|令牌)",
    ),
    (
        "BUSINESS_ERROR",
        r"起送|还差\S{0,6}元|未满.{0,8}元|(不|无法|不能|不可|不得|不予).{0,4}(退票|退款|退货"
        r"|改签|提现|兑换|转让|开票)|至少(需要?)?保留|(当前|该)状态|套餐.{0,8}(不|升级)|(限额"
        r"|额度)|[已被](核销|兑换)|(报名|投票|活动|申请|预约).{0,4}(截止|结束|未开始)|(活动"
        r"|抢购).{0,3}尚未|(已|已经)有(一个|\d个|未完成的)(预约|订单|申请)|到柜台|请先(完成|学习"
        r"|支付|归还|通过|取消).{1,16}(再|后|才)|(不|未)提供.{0,6}服务|凭处方|欠款|未成年|(次数"
        r"|额度|流量)已?用(完|尽)|(结束|截止|过期|发布|提交)后.{0,3}(不能|不可|无法)"
        r"|需(要)?(购买|开通|升级)"
        r"|(达到|超过|超出).{0,20}(上限|最大.{0,12}(数|量|值|限制))|[仅只][限在]?.{0,6}(高级|专业|企业|付费|会员)(版|方案|套餐)"
        r"|(企业|专业|高级|付费)版?功能|非(上班|营业|工作|服务|开放)时间|^(错误\W*)?\w{1,8}?(已|未|没有|处于)(挂起"
        r"|关闭|归档|锁定|暂停|结束|完成|取消|发布)(状态)?\W*$|在.{1,8}(结束|关闭|提交|完成|发布|删除)前\w{1,12}$"
        r"|(最后|唯一)的?一?[个位名]?(所有者|管理员|群主)|请先(?!登).{1,16}再"
        r"|(本|此|该|当前)(服务器|系统|平台|版本|[账帐][户号]类型).{0,2}(不支持|不可用|未启用|未配置)|(未|没有).{0,12}许可证"
        r"|(功能|注册|创建).{0,2}(停用|禁用|未开启|未启用)|(停用|禁用)[\w ]{0,8}(功能|注册|创建)"
        r"|只有.{1,14}(可以|才可|才能)",
    ),
    (
        "DATA_NOT_FOUND",
        r"未(能)?(找到|查询到|查到|检索到|搜到)|从未存在|走丢|已(经)?解散|查无|(内容|页面|商品"
        r"|帖子|视频|文章).{0,4}已?(经)?被?(作者)?(删除|移除|下架)|没有可(选|用|预订)的?"
        r"|没有(名为|叫|编号)|(查|搜|找)不到|已不存在|没有(任何)?.{0,6}(记录|信息)"
        r"|没有可.{1,8}的|^[该此].{1,6}没有\w{1,6}\W*$",
    ),
    (
        "VALIDATION_ERROR",
        r"(勾选|同意).{0,8}(协议|条款|政策|声明|须知)|(位数|字数|长度).{0,4}(不|应|错|有误|超)"
        r"|格式(不对|有误|错误|应)|必须(同时)?(包含|晚于|早于|大于|小于)|不得(超过|少于|多于"
        r"|包含)|未填写|未填|(短信|图形|输入的)验证码.{0,4}(过期|错误|不正确|有误|无效)"
        r"|不能全(是|为)|不是(有效|合法|正确)的?.{0,3}(数字|日期|金额|邮箱|号码)|请(上传|填写"
        r"|给出)|不一样|非法字符|需在.{1,10}(之间|以内)|字数超出"
        r"|(大小|长度|尺寸|体积).{0,3}(超过|超出|大于)",
    ),
)
_GERMAN: tuple[tuple[FailureType, str], ...] = (
    (
        "PARAMETER_ERROR",
        r"(anfrage|request)\b.{0,30}(json|body|header|kopfzeile)|(pflicht)?parameter\b|(methode"
        r"|medientyp) nicht (erlaubt|zulässig|unterstützt)|nicht unterstützte (api-|protokoll-?"
        r"|schema-?)?version",
    ),
    (
        "SERVICE_UNAVAILABLE",
        r"(antwortet|reagiert)( \w+)? nicht|nicht geantwortet|bei uns\b.{0,20}schief"
        r"|verbindung\b.{0,40}(unterbrochen|abgebrochen|verloren|zurückgesetzt|getrennt)"
        r"|dauerte? zu lange|internetverbindung|technische\w* (problem|störung|schwierigkeit)"
        r"|(im moment|derzeit|momentan|zurzeit|gerade) nicht (bearbeiten|verarbeiten|erreich\w*"
        r"|laden|möglich)|verbindung\b.{0,40}verloren|konnten? nicht geladen",
    ),
    (
        "RESOURCE_CONFLICT",
        r"(gerade|soeben|inzwischen|zwischenzeitlich|zwischenzeit|seitdem)\b.{0,50}(gebucht"
        r"|reserviert|geändert|bearbeitet|vergeben|belegt|aktualisiert)|von (jemand"
        r"|einem anderen|einer anderen|anderen)\b.{0,40}(gebucht|reserviert|geändert|bearbeitet"
        r"|gesperrt|belegt|gelöscht)|(schon|bereits) (vergeben|belegt)|läuft (bereits|schon)"
        r"|bearbeitungskonflikt|in einem anderen (tab|fenster|browser)|auf einem anderen gerät"
        r"|an (einen|eine) andere\w* \w+ vergeben|(sicherung|import|export|aktualisierung"
        r"|migration|vorgang)\w* läuft|nicht mehr aktuell|veraltet",
    ),
    (
        "PERMISSION_ERROR",
        r"\bnur\b.{0,20}(administrator|admin|mitglied|inhaber|eigentümer|moderator|mitarbeiter"
        r"|angemeldet|registriert)\w*\b.{0,40}(verfügbar|verfügung|dürfen|können|darf|kann"
        r"|zugänglich|vorbehalten|möglich|erlaubt|sichtbar)|(administrator|mitglied|mitarbeiter"
        r"|moderator)\w* vorbehalten|\blink\b.{0,60}(abgelaufen|nicht mehr gültig|ungültig)"
        r"|(anmelde|zugangs|login)-?daten\b.{0,30}(falsch|nicht|ungültig|inkorrekt|fehlerhaft)"
        r"|(bestätig|verifizier)\w*\b.{0,20}e-mail|(falsche|ungültige)\w* pin\b"
        r"|noch \d versuche?|nur (ihre|deine|die|seine) eigenen|\b(ist|sind) privat\b"
        r"|inaktivität|abgemeldet|ihre rolle|unbekanntes gerät",
    ),
    (
        "BUSINESS_ERROR",
        r"nur noch (\d+|ein\w*|wenige)\b|stornierung|(rückgabe|umtausch|erstattung|buchung"
        r"|änderung)\w*\b.{0,30}(nicht mehr|nur) .{0,40}möglich|(lässt"
        r"|lassen) sich\b.{0,20}nicht( mehr)? (ändern|löschen|bearbeiten|stornieren|verschieben)"
        r"|letzte\w* (administrator|admin|inhaber|eigentümer|besitzer)|frist\b.{0,20}(abgelaufen"
        r"|beendet|vorbei|verstrichen)|pro (kunde|haushalt|person)\b|(tarif|paket"
        r"|abo)\b.{0,30}nicht (enthalten|inbegriffen)|sie haben\b.{0,30}(bereits"
        r"|schon) eine?n? (termin|buchung|reservierung|antrag|abo)|rezeptpflichtig"
        r"|schließen sie zuerst|zuerst .{1,30} (ab|abschließen|bezahlen|zurückgeben)"
        r"|liefern wir nicht|ausgebucht|ausverkauft|kontingent|aufgebraucht|offene\w* (saldo"
        r"|rechnung|betrag)",
    ),
    (
        "DATA_NOT_FOUND",
        r"\bkein\w*\b.{0,60}(vorhanden|gefunden|hinterlegt|zugeordnet|bekannt)"
        r"|nicht mehr (in unserem|im) (sortiment|katalog|angebot)|nie existiert|(gelöscht"
        r"|entfernt|verschoben) oder|(benutzer|nutzer|kunde|artikel|produkt)\w* (ist )?unbekannt"
        r"|gibt es (leider )?nicht mehr|keine (angaben|informationen|daten) (vor|zu)"
        r"|liegen uns keine|wurden? aufgelöst",
    ),
    (
        "VALIDATION_ERROR",
        r"pflicht(feld|angabe)|richtige (länge|anzahl)|in der (zukunft|vergangenheit)"
        r"|erlaubt sind nur|nur\b.{0,20}(dateitypen|formate|dateien)|\bAGB\b|(nutzungs"
        r"|geschäfts)bedingungen|ist keine? (zahl|datum|gültige)|kürzen sie"
        r"|laden sie .{1,40} hoch|nur aus leerzeichen",
    ),
)
_FRENCH: tuple[tuple[FailureType, str], ...] = (
    (
        "PARAMETER_ERROR",
        r"(corps|en-tête) de (la )?requête|paramètre\b|méthode non (permise|autorisée|prise)"
        r"|version (d['’]api|du protocole|de l['’]api)\b.{0,20}(non|pas)"
        r"|api non prise? en charge",
    ),
    (
        "SERVICE_UNAVAILABLE",
        r"ne répond(ent)? (pas|plus)|n['’]a pas répondu|de notre côté"
        r"|connexion\b.{0,30}(interrompue|perdue|coupée|réinitialisée)|momentanément"
        r"|mis trop de temps|connexion internet|(problème|incident)s? techniques?|(ne pouvons"
        r"|ne peut|impossible)\b.{0,60}(pour le moment|pour l['’]instant|actuellement)"
        r"|n['’]a pas pu être chargée?|connexion (à|au|avec)\b.{0,30}perdue",
    ),
    (
        "RESOURCE_CONFLICT",
        r"(vient d['’]être|entre-?temps)\b.{0,40}(réservé|modifié|pris|changé|attribué)"
        r"|en cours (de modification|d['’](édition|utilisation)) par|(réservée?|modifiée?"
        r"|verrouillée?|prise?) par (une? autre|quelqu|d['’]autre)|est déjà prise?|déjà en cours"
        r"|conflit|(dans|sur) un autre (onglet|appareil|navigateur)|dans une autre fenêtre"
        r"|attribuée? à (un|une) autre|(sauvegarde|importation|exportation|mise à jour"
        r"|synchronisation|migration) (est )?(déjà )?en cours|n['’]est plus à jour",
    ),
    (
        "PERMISSION_ERROR",
        r"(réservée?s?|accessibles?) (uniquement |seulement )?(aux?|à l['’]) ?(admin|membre"
        r"|modérateur|propriétaire|personnel|utilisateur|abonné|client)\w*|seule?s? (les? "
        r"|l['’])(admin|membre|modérateur|propriétaire|utilisateur)\w*.{0,20} (peu|pou)\w*"
        r"|lien\b.{0,50}(plus (valable|valide)|expiré|périmé)|vos identifiants\b.{0,20}(erron"
        r"|incorr|inval)|connectez-vous|(confirmez|vérifiez|validez|confirmer|vérifier"
        r"|valider)\b.{0,20}(e-?mail|courriel|compte)|code pin (erroné|incorrect|invalide)"
        r"|il reste \d (essai|tentative)s?|que (vos|ses|tes) propres|est privée?\b|inactivité"
        r"|déconnectée?\b|votre rôle|appareil inconnu",
    ),
    (
        "BUSINESS_ERROR",
        r"il ne reste (plus )?que|(annulation|remboursement|retour"
        r"|modification)\b.{0,30}(n['’]est (possible|plus)|plus possible)|ne peu(t"
        r"|vent) plus être|(dernier|seul) (admin|propriétaire)\w*|(inscription|vente|vote"
        r"|candidature)s?\b.{0,20}(close|clôturé|terminé|fermé)"
        r"|délai\b(?! d['’]attente).{0,30}(expiré|dépassé|écoulé)|par (client|foyer|personne)\b"
        r"|bon d['’]achat|vous avez déjà une? (rendez-vous|réservation|demande|abonnement|prêt)"
        r"|(est|sont) complète?s?\.?$|ordonnance|terminez d['’]abord|d['’]abord (terminer|payer"
        r"|finir)|ne livrons pas|quota|épuisée?s?",
    ),
    (
        "DATA_NOT_FOUND",
        r"n['’]est plus (au|dans (le|notre)) (catalogue|assortiment)|n['’]a jamais existé"
        r"|a été (supprimée?|déplacée?) ou|introuvable|(utilisateur|client|produit|page"
        r"|article)s?( \w+)? (est )?inconnue?|aucune? \S+( \S+)? (trouvée?|ne correspond"
        r"|avec cet?)|il n['’]y a aucune?|n['’]existe plus|aucune (information|donnée"
        r"|trace) (sur|de|pour|concernant)|a été dissoute?",
    ),
    (
        "VALIDATION_ERROR",
        r"champs? obligatoires?|bonne longueur|dans le (futur|passé)|seuls? les (fichiers"
        r"|formats|extensions)|ne doit pas dépasser|ne sont pas identiques|conditions (générales"
        r"|d['’]utilisation)|^(choisissez|sélectionnez|saisissez|renseignez|remplissez)"
        r"|n['’]est pas un (nombre|entier|chiffre)|^(raccourcissez|joignez|donnez|ajoutez"
        r"|téléversez|indiquez|entrez|précisez)",
    ),
)
_SPANISH: tuple[tuple[FailureType, str], ...] = (
    (
        "PARAMETER_ERROR",
        r"cuerpo de la (solicitud|petición)|parámetro|método no (permitido|admitido|soportado)"
        r"|versión (de|del) (la )?(api|protocolo)\b.{0,20}no",
    ),
    (
        "SERVICE_UNAVAILABLE",
        r"no (responde|ha respondido|respondió)\b|por nuestra parte|interrump\w+ .{0,12}conexión"
        r"|conexión\b.{0,30}(interrump|perd|cort)\w*|tardado demasiado|conexión a internet"
        r"|(problema|dificultad)\w* técnic\w+|tiempo de espera|no (podemos|se puede"
        r"|es posible)\b.{0,60}(en este momento|por el momento|ahora)|no se ha podido cargar"
        r"|perdido la conexión",
    ),
    (
        "RESOURCE_CONFLICT",
        r"acaba de (reserv|modific|cambi)\w+|(otra persona|otro (usuario|cliente)"
        r"|alguien)\b.{0,40}(reserv|modific|edit|cambi|actualiz)\w*|está (editando|modificando"
        r"|usando|utilizando)|ya está (en uso|ocupad|reservad)|ya (está|hay) .{0,20}en curso"
        r"|en otra (pestaña|ventana)|en otro (dispositivo|navegador)|asignad\w+ .{0,12}a otr[oa]"
        r"|(copia de seguridad|importación|exportación|actualización|sincronización"
        r"|migración)\b.{0,20}en curso|no está actualizad",
    ),
    (
        "PERMISSION_ERROR",
        r"(reservad|restringid|disponible)\w* (solo |solamente |únicamente )?(a|para) (los |las "
        r"|el |la )?(admin|miembro|moderador|propietari|personal|usuario|suscriptor)\w*"
        r"|s[óo]lo (el |los |un )?(admin|miembro|propietari|moderador)\w* pued\w+"
        r"|enlace\b.{0,60}(caduc|expir|no es válido|ya no)|datos de acceso\b.{0,30}(no|incorrect"
        r"|erróne)|(inicia|inicie) sesión|(confirm|verifi)(e|a|ar|que|car|ca)\b.{0,20}(correo"
        r"|e-?mail|cuenta)|(pin|clave) (incorrect|inválid|erróne)\w+|quedan? \d (intentos?)"
        r"|sus propi[oa]s|(es|son) privad[oa]s?\b|inactividad|cerrado su sesión|su rol\b"
        r"|dispositivo desconocido",
    ),
    (
        "BUSINESS_ERROR",
        r"s[óo]lo queda\w* \d|puede cancelar\b.{0,20}hasta|último (administrador|propietario)"
        r"|(cupón|vale)\b.{0,20}\bya\b(?! está disponible)|(plazo|inscripci|votaci"
        r"|per[ií]odo)\w*\b.{0,40}(termin|cerrad|finaliz|vencid|concluid|expirad)\w*"
        r"|por (cliente|hogar|persona)\b|ya no se puede|ya (tiene|tienes) una? (cita|reserva"
        r"|solicitud|suscripción|préstamo)|requiere (receta|suscripción|aprobación)|(termine"
        r"|complete|pague|finalice) primero|no hacemos entregas|no (entregamos|enviamos)|(está"
        r"|están) agotad[oa]s?",
    ),
    (
        "DATA_NOT_FOUND",
        r"no hay ningun?a? |no hay ningún |ya no está en (nuestro|el) (catálogo|surtido)"
        r"|nunca existió|fue (eliminad|movid|borrad)\w* o\b|no encontramos|ya no existe"
        r"|no tenemos (datos|información|constancia)|no se encontraron|disuelt[oa]",
    ),
    (
        "VALIDATION_ERROR",
        r"campos? obligatorios?|longitud correcta|en el (futuro|pasado)|solo se (admiten|aceptan"
        r"|permiten) (archivos|formatos)|no puede superar|contraseñas no coinciden"
        r"|términos y condiciones|condiciones de uso|no es un (número|entero)|^(acorte|adjunte"
        r"|dé|añada|suba|indique|especifique|introduzca|escriba)\b",
    ),
)
TABLES: dict[str, tuple[tuple[FailureType, str], ...]] = {
    "": tuple((name, rf"\b(?:{words})") for name, words in _ENGLISH),
    "chinese": _CHINESE,
    "german": _GERMAN,
    "french": tuple((name, rf"\b(?:{words})") for name, words in _FRENCH),
    "spanish": tuple((name, rf"(?<!\w)(?:{words})") for name, words in _SPANISH),
}
"""For each language, the types with their families of phrases, in order of precedence."""
SAYS_NOTHING = (
    r"\W*((oops|sorry|oh no|unfortunately|error|failed|failure|something|that|this|it|the|an?|went"
    r"|wrong|did|does|could|not|n['’]t|be|was|work|completed?|succeed|operation|action|request"
    r"|task)\W*)+"
    r"|\W*((抱歉|对不起|很遗憾|糟糕|哎呀|操作|提交|执行|出现?错误?了?|错误|失败了?|没有?|未能?|成功|完成|了)"
    r"\W*)+"
    r"|\W*((fehler|ups|leider|hoppla|fehlgeschlagen|es|ist|ein|aufgetreten|das|hat|nicht|geklappt"
    r"|funktioniert)\W*)+"
    r"|\W*((oups|erreur|échec|désolé|une|est|survenue|cela|ça|n['’]a|pas|fonctionné)\W*)+"
    r"|\W*((ups|error|fallo|lo|sentimos|algo|ha|salido|salió|fallado|mal|no|funcionado)\W*)+"
)
"""Words that, if they make up a whole message, only state that something failed."""

_FILE = Path(__file__).with_name("failure_weights.json")
_LONGEST = 400
"""Maximum length in characters of a message that is weighed: logs and pages contain too much
else."""
_OVERRULES = 0.6
"""How much more probable another type must be to overrule the lists."""
_ALONE = 0.35
"""Minimum probability of a type when no list matches the message."""
_CLEAR = 0.8
"""Minimum probability by weight of a list's type for its phrase to count as clear."""


class WordsFound(NamedTuple):
    """The classification of a message by its words."""

    type: FailureType
    """The type of the failure."""
    words: str
    """The words that decided."""
    clear: bool = True
    """False if they only lean towards this type."""


def parts_of(message: str, chinese: bool) -> set[str]:
    """Return the weighed parts: single words, two or three together, their beginnings and ends.

    Chinese has no spaces; its parts are one to four characters in a row.
    """
    # The value of a number says nothing about the type, but its presence may.
    message = re.sub(r"\d+", "3", message.lower())
    if chinese:
        message = re.sub(r"\s", "", message)
        starts = range(len(message))
        return {message[at : at + size] for size in (1, 2, 3, 4) for at in starts}
    words = ["^", *re.findall(r"\w+|[^\w\s]", message)]
    parts = {" ".join(words[at : at + size]) for size in (1, 2, 3) for at in range(len(words))}
    for word in words:
        if len(word) > 5:
            parts |= {f"<{word[:4]}", f"<{word[:5]}", f"<{word[:6]}", f"{word[-4:]}>"}
    return parts


def weigh(message: str, chinese: bool, listed: WordsFound | None) -> WordsFound | None:
    """Return a message's type and the deciding words, given the lists' result.

    Args:
        message: the message; Chinese in simplified characters.
        chinese: whether it is Chinese.
        listed: the result of the word lists, or None.

    Returns:
        None if neither the lists nor the weights recognise the message as a failure.
    """
    if len(message) > _LONGEST:
        return listed and listed._replace(clear=False)
    types, bias, weights = _learnt()
    known = sorted(part for part in parts_of(message, chinese) if part in weights)
    if not known:
        return listed
    shares = _shares(bias, [weights[part] for part in known])
    # A verdict of "no failure" only counts where no list reports one.
    allowed = [at for at, name in enumerate(types) if listed is None or name != "UNKNOWN"]
    best = max(allowed, key=lambda at: shares[at])
    if listed is not None:
        # A phrase that makes up most of the message leaves no doubt.
        most = len(listed.words) >= len(message) / 2
        own = shares[types.index(listed.type)]
        if most or shares[best] < own + _OVERRULES:
            return listed._replace(clear=most or own >= _CLEAR)
    elif types[best] == "UNKNOWN" or shares[best] < _ALONE:
        return None
    decided = max(known, key=lambda part: weights[part][best])
    return WordsFound(types[best], decided.strip("<>^ "), clear=False)


def _shares(bias: Sequence[float], weights: Sequence[Sequence[int]]) -> list[float]:
    """Return each type's probability (softmax); a long message weighs no more than a short one.

    Args:
        bias: each type's prior weight.
        weights: for each part of the message, its weight for each type, followed by its inverse
            document frequency, which is already factored into the weights.
    """
    *by_type, rare = zip(*weights, strict=True)
    length = math.hypot(*rare)
    sums = [start + sum(own) / length for start, own in zip(bias, by_type, strict=True)]
    powers = [math.exp(value - max(sums)) for value in sums]
    return [power / sum(powers) for power in powers]


@cache
def _learnt() -> tuple[list[FailureType], list[float], dict[str, list[int]]]:
    # Loaded lazily with the first message, because most sessions have none.
    learnt = json.loads(_FILE.read_text(encoding="utf-8"))
    return learnt["types"], learnt["bias"], learnt["weights"]
