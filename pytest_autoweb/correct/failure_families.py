"""What messages of a family say in any application: who may, there is no such, somebody was faster.

The lists in `failure_words` and `european_words` hold the words of applications. A family is a way
of saying, with its stems and negations and with room for the thing that it is said of; so it is
looked for before them. `docs/calibration.md` says how often that is right.
"""

from pytest_autoweb.results.correction import FailureType

_ENGLISH: tuple[tuple[FailureType, str], ...] = (
    (
        "PARAMETER_ERROR",
        r"(unknown|unrecogni[sz]ed|unexpected|duplicate) (\w+ )?(parameter|argument|header|property"
        r"|field [\"'`]\w+[\"'`] ?(\(|on|in))|(required|missing) (\w+ )?(parameter|argument|header)"
        r"|(parameter|argument|header)s? .{0,40}(is missing|not present|expected|unknown)"
        r"|(malformed|invalid|bad) (json|xml|request) (body|payload)|cannot query field"
        r"|(could(n['’]t| not)|cannot|failed to|unable to) (parse|decode|deserialize) .{0,20}"
        r"(json|body|payload|request|xml|yaml)|no route matches",
    ),
    (
        "SERVICE_UNAVAILABLE",
        r"((is|are|was|does|did)( not|n['’]t)|stopped|not) respond\w*|no (answer|reply|response) "
        r"from|on our (end|side)|(team|engineers|administrators?) (has|have) been (notified"
        r"|informed)|heavy load|(high|heavy) traffic|technical difficult\w+|check your (internet"
        r"|network|connection)|took too long|connection (\w+ ){0,2}(reset|lost|interrupted|dropped"
        r"|aborted)|server error happened",
    ),
    (
        "RESOURCE_CONFLICT",
        r"(just|moments? ago|meanwhile|in the meantime|since you|while you) .{0,60}(booked|taken"
        r"|reserved|changed|edited|modified|updated)|(booked|taken|reserved|changed|edited"
        r"|modified|updated|locked|opened|checked out) (for \w+ )?by (another|someone|somebody"
        r"|a different|other|[A-Z]\w+)|(someone|somebody|another (user|person|customer|editor"
        r"|process|session|device|tab)) (else )?(is |has |was |have )?(already |just )?(edit|chang"
        r"|book|reserv|tak|lock|updat|modif|using)\w*|another .{0,30}(already )?(running"
        r"|in progress)|already (running|in progress|being)|(edit|merge|version|write)[- ]conflict"
        r"|(destination|target) .{0,12}exists|no longer (free|vacant)|e-?mail\b.{0,20}\b"
        r"(already|been) (registered|taken)",
    ),
    (
        "PERMISSION_ERROR",
        r"(restricted|reserved|available|open|visible|accessible) (only )?(to|for) (\w+ )?(admin"
        r"|member|owner|staff|subscriber|moderator|employee|registered|logged)\w*|only .{0,20}"
        r"(admin\w*|owners?|members?|moderators?|staff|managers?|editors?|creator|author)\b.{0,12}"
        r"\b(can|may|are allowed|is allowed)|(admin\w*|members?|staff) only\b",
    ),
    (
        "BUSINESS_ERROR",
        r"(only|just) (\d+|one|two|three|a few) .{0,20}(left|remaining|in stock)|(balance|credit"
        r"|points|funds)\b.{0,20}(too low|insufficient|not (enough|sufficient))|insufficient "
        r"(funds|balance|credit|points|stock)|only (possible|allowed) (with)?in\b|no longer "
        r"(possible|be (\w+ )?(chang|cancel|edit|refund|return|modif)\w*)|(already )?been (redeemed"
        r"|shipped|refunded)|(your|current|free) (plan|subscription|package|tier|licen[cs]e)\b.{0,12}"
        r" (not|n['’]t) (include|allow|support|cover)|(limited|limit) (to|of) (one|two|\d+) per\b"
        r"|(registration|voting|enrol\w*|poll|sale|sales|submissions?)\b.{0,30}(closed|ended"
        r"|not yet open)|was declined|(last|only) remaining|cannot be (completed|closed|deleted"
        r"|cancelled|canceled) (while|until|because|after|before)|already (voted|reviewed)",
    ),
    (
        "DATA_NOT_FOUND",
        r"there(['’]s| is| are) (currently )?no \w+( \w+)? (associated|with|for|matching|called"
        r"|named|registered)|no \w+( \w+)? (is |was |are |were )?(associated|match\w*|called|named"
        r"|by that)|never existed|(may|might|could) have been (moved|removed|deleted)|no longer "
        r"exists?|(nothing|none) (was )?(found|matches)|broken link|(does|did|do)(n['’]t| not) "
        r"exist\b|(has|was|been) (deleted|removed) (or|by its)",
    ),
    (
        "VALIDATION_ERROR",
        r"(does|do)(n['’]t| not) look like|(limited|restricted) to \d+ (character|digit|word|letter)"
        r"s?|wrong (number|amount) of (digits|characters|letters)|captcha|(agree|accept|consent) "
        r"(to )?(the|our|these|all) (terms|conditions|privacy|rules|polic\w+)|(unsupported"
        r"|recogni[sz]ed|correct|right) (file )?(format|type)|has to be (a|an|at|in|between|after"
        r"|before|greater|less|positive)\b",
    ),
)
_CHINESE: tuple[tuple[FailureType, str], ...] = (
    (
        "PARAMETER_ERROR",
        r"(请求体|请求头|请求参数|入参|报文).{0,16}(不是|非法|缺|错误|无效|未知|不合法|有误|不支持)"
        r"|参数.{0,12}(非法|不合法|无效|缺失|未知)|(缺少|缺失|未知|非法|多余)的?.{0,4}(参数|请求头"
        r"|header|[\w-]+ ?头)|无法解析.{0,6}(请求|参数|报文|JSON)|不支持的?请求?(方法|媒体)"
        r"|不存在的(接口|方法)|(接口|方法)不存在",
    ),
    (
        "SERVICE_UNAVAILABLE",
        r"无响应|没有(响应|回应|应答)|抢修|人数过多|拥挤|网络(异常|错误|不给力|繁忙|中断|波动)"
        r"|(服务|服务器|接口)(异常|错误|繁忙|开小差|故障)|(连接|数据库).{0,8}(失败|超时|中断|重置)",
    ),
    (
        "RESOURCE_CONFLICT",
        r"(已经?|刚刚?|刚才)?被.{0,3}(他人|其他|别人|另一|别的).{0,8}(修改|更新|编辑|选|订|定|抢|占"
        r"|锁|使用)|正(在)?被.{0,10}(编辑|使用|占用|打开|修改)|正在.{0,6}(执行|运行|处理|编辑).{0,6}"
        r"(勿|不要|不能|不可)|请勿重复|[段位座].{0,6}已.{0,3}(约|订|占|定)|有(更)?新(的)?版本|"
        r"(唯一|主键)性?约束|(邮箱|手机号?|用户名|昵称|账号)已经?(被?注册|存在|被?占用|被?使用)",
    ),
    (
        "PERMISSION_ERROR",
        r"仅(限|对)?.{0,8}(管理员|会员|成员|所有者|员工|注册用户|作者|本人).{0,4}(可|能|才|开放|使用"
        r"|访问|查看|操作)|只有.{0,10}(管理员|会员|成员|所有者|作者|本人).{0,4}(可|能)"
        r"|(仅|只)对.{0,8}开放|(链接|邀请).{0,6}(失效|过期|无效)|(账|帐)[号户].{0,3}(冻结|锁定|封)",
    ),
    (
        "BUSINESS_ERROR",
        r"起送|还差\S{0,6}元|未满.{0,8}元|(不|无法|不能|不可|不得|不予).{0,4}(退票|退款|退货|改签"
        r"|提现|兑换|转让|开票)|至少(需要?)?保留|(当前|该)状态|套餐.{0,8}(不|升级)|(限额|额度)"
        r"|[已被](核销|兑换)|(报名|投票|活动|申请|预约).{0,4}(截止|结束|未开始)|(活动|抢购).{0,3}尚未",
    ),
    (
        "DATA_NOT_FOUND",
        r"未(能)?(找到|查询到|查到|检索到|搜到)|从未存在|走丢|已(经)?解散|查无|(内容|页面|商品|帖子"
        r"|视频|文章).{0,4}已?(经)?被?(作者)?(删除|移除|下架)",
    ),
    (
        "VALIDATION_ERROR",
        r"(勾选|同意).{0,8}(协议|条款|政策|声明|须知)|(位数|字数|长度).{0,4}(不|应|错|有误|超)"
        r"|格式(不对|有误|错误|应)|必须(同时)?(包含|晚于|早于|大于|小于)|不得(超过|少于|多于|包含)"
        r"|未填写|未填",
    ),
)
_GERMAN: tuple[tuple[FailureType, str], ...] = (
    (
        "PARAMETER_ERROR",
        r"(anfrage|request)\b.{0,30}(json|body|header|kopfzeile)"
        r"|(pflicht)?parameter\b|(methode|medientyp) nicht (erlaubt|zulässig|unterstützt)",
    ),
    (
        "SERVICE_UNAVAILABLE",
        r"(antwortet|reagiert)( \w+)? nicht|nicht geantwortet|bei uns\b.{0,20}schief|verbindung\b"
        r".{0,40}(unterbrochen|abgebrochen|verloren|zurückgesetzt|getrennt)|dauerte? zu lange"
        r"|internetverbindung|technische\w* (problem|störung|schwierigkeit)",
    ),
    (
        "RESOURCE_CONFLICT",
        r"(gerade|soeben|inzwischen|zwischenzeitlich|zwischenzeit|seitdem)\b.{0,50}(gebucht"
        r"|reserviert|geändert|bearbeitet|vergeben|belegt|aktualisiert)|von (jemand|einem anderen"
        r"|einer anderen|anderen)\b.{0,40}(gebucht|reserviert|geändert|bearbeitet|gesperrt|belegt"
        r"|gelöscht)|(schon|bereits) (vergeben|belegt)|läuft (bereits|schon)|bearbeitungskonflikt",
    ),
    (
        "PERMISSION_ERROR",
        r"\bnur\b.{0,20}(administrator|admin|mitglied|inhaber|eigentümer|moderator|mitarbeiter"
        r"|angemeldet|registriert)\w*\b.{0,40}(verfügbar|verfügung|dürfen|können|darf|kann"
        r"|zugänglich|vorbehalten|möglich|erlaubt|sichtbar)|(administrator|mitglied|mitarbeiter"
        r"|moderator)\w* vorbehalten|\blink\b.{0,60}(abgelaufen|nicht mehr gültig|ungültig)"
        r"|(anmelde|zugangs|login)-?daten\b.{0,30}(falsch|nicht|ungültig|inkorrekt|fehlerhaft)",
    ),
    (
        "BUSINESS_ERROR",
        r"nur noch (\d+|ein\w*|wenige)\b|stornierung|(rückgabe|umtausch|erstattung|buchung|änderung"
        r")\w*\b.{0,30}(nicht mehr|nur) .{0,40}möglich|(lässt|lassen) sich\b.{0,20}nicht( mehr)? "
        r"(ändern|löschen|bearbeiten|stornieren|verschieben)|letzte\w* (administrator|admin|inhaber"
        r"|eigentümer|besitzer)|frist\b.{0,20}(abgelaufen|beendet|vorbei|verstrichen)|pro (kunde"
        r"|haushalt|person)\b|(tarif|paket|abo)\b.{0,30}nicht (enthalten|inbegriffen)",
    ),
    (
        "DATA_NOT_FOUND",
        r"\bkein\w*\b.{0,60}(vorhanden|gefunden|hinterlegt|zugeordnet|bekannt)|nicht mehr (in "
        r"unserem|im) (sortiment|katalog|angebot)|nie existiert|(gelöscht|entfernt|verschoben) oder"
        r"|(benutzer|nutzer|kunde|artikel|produkt)\w* (ist )?unbekannt",
    ),
    (
        "VALIDATION_ERROR",
        r"pflicht(feld|angabe)|richtige (länge|anzahl)|in der (zukunft|vergangenheit)|erlaubt sind "
        r"nur|nur\b.{0,20}(dateitypen|formate|dateien)|\bAGB\b|(nutzungs|geschäfts)bedingungen",
    ),
)
_FRENCH: tuple[tuple[FailureType, str], ...] = (
    (
        "PARAMETER_ERROR",
        r"(corps|en-tête) de (la )?requête|paramètre\b|méthode non (permise"
        r"|autorisée|prise)",
    ),
    (
        "SERVICE_UNAVAILABLE",
        r"ne répond(ent)? (pas|plus)|n['’]a pas répondu|de notre côté|connexion\b.{0,30}"
        r"(interrompue|perdue|coupée|réinitialisée)|momentanément|mis trop de temps|connexion "
        r"internet|(problème|incident)s? techniques?",
    ),
    (
        "RESOURCE_CONFLICT",
        r"(vient d['’]être|entre-?temps)\b.{0,40}(réservé|modifié|pris|changé|attribué)|en cours "
        r"(de modification|d['’](édition|utilisation)) par|(réservée?|modifiée?|verrouillée?|prise?)"
        r" par (une? autre|quelqu|d['’]autre)|est déjà prise?|déjà en cours|conflit",
    ),
    (
        "PERMISSION_ERROR",
        r"(réservée?s?|accessibles?) (uniquement |seulement )?(aux?|à l['’]) ?(admin|membre"
        r"|modérateur|propriétaire|personnel|utilisateur|abonné|client)\w*|seule?s? (les? "
        r"|l['’])(admin|membre|modérateur|propriétaire|utilisateur)\w*.{0,20} (peu|pou)\w*|lien\b"
        r".{0,50}(plus (valable|valide)|expiré|périmé)|vos identifiants\b.{0,20}(erron|incorr|inval)"
        r"|connectez-vous",
    ),
    (
        "BUSINESS_ERROR",
        r"il ne reste (plus )?que|(annulation|remboursement|retour|modification)\b.{0,30}"
        r"(n['’]est (possible|plus)|plus possible)|ne peu(t|vent) plus être|(dernier|seul) "
        r"(admin|propriétaire)\w*|(inscription|vente|vote|candidature)s?\b.{0,20}(close|clôturé"
        r"|terminé|fermé)|délai\b(?! d['’]attente).{0,30}(expiré|dépassé|écoulé)|par (client|foyer|personne)\b"
        r"|bon d['’]achat",
    ),
    (
        "DATA_NOT_FOUND",
        r"n['’]est plus (au|dans (le|notre)) (catalogue|assortiment)|n['’]a jamais existé|a été "
        r"(supprimée?|déplacée?) ou|introuvable|aucune? \S+( \S+)? (trouvée?|ne correspond|avec "
        r"cet?)|il n['’]y a aucune?",
    ),
    (
        "VALIDATION_ERROR",
        r"champs? obligatoires?|bonne longueur|dans le (futur|passé)|seuls? les (fichiers|formats"
        r"|extensions)|ne doit pas dépasser|ne sont pas identiques|conditions (générales"
        r"|d['’]utilisation)|^(choisissez|sélectionnez|saisissez|renseignez|remplissez)",
    ),
)
_SPANISH: tuple[tuple[FailureType, str], ...] = (
    (
        "PARAMETER_ERROR",
        r"cuerpo de la (solicitud|petición)|parámetro|método no "
        r"(permitido|admitido|soportado)",
    ),
    (
        "SERVICE_UNAVAILABLE",
        r"no (responde|ha respondido|respondió)\b|por nuestra parte|interrump\w+ .{0,12}conexión"
        r"|conexión\b.{0,30}(interrump|perd|cort)\w*|tardado demasiado|conexión a internet"
        r"|(problema|dificultad)\w* técnic\w+|tiempo de espera",
    ),
    (
        "RESOURCE_CONFLICT",
        r"acaba de (reserv|modific|cambi)\w+|(otra persona|otro (usuario|cliente)|alguien)\b.{0,40}"
        r"(reserv|modific|edit|cambi|actualiz)\w*|está (editando|modificando|usando|utilizando)"
        r"|ya está (en uso|ocupad|reservad)|ya (está|hay) .{0,20}en curso",
    ),
    (
        "PERMISSION_ERROR",
        r"(reservad|restringid|disponible)\w* (solo |solamente |únicamente )?(a|para) (los |las |el "
        r"|la )?(admin|miembro|moderador|propietari|personal|usuario|suscriptor)\w*|s[óo]lo (el |los"
        r" |un )?(admin|miembro|propietari|moderador)\w* pued\w+|enlace\b.{0,60}(caduc|expir|no es "
        r"válido|ya no)|datos de acceso\b.{0,30}(no|incorrect|erróne)|(inicia|inicie) sesión",
    ),
    (
        "BUSINESS_ERROR",
        r"s[óo]lo queda\w* \d|puede cancelar\b.{0,20}hasta|último (administrador|propietario)|(cupón"
        r"|vale)\b.{0,20}\bya\b(?! está disponible)|(plazo|inscripci|votaci|per[ií]odo)\w*\b.{0,40}(termin|cerrad|finaliz"
        r"|vencid|concluid|expirad)\w*|por (cliente|hogar|persona)\b|ya no se puede",
    ),
    (
        "DATA_NOT_FOUND",
        r"no hay ningun?a? |no hay ningún |ya no está en (nuestro|el) (catálogo|surtido)|nunca "
        r"existió|fue (eliminad|movid|borrad)\w* o\b|no encontramos",
    ),
    (
        "VALIDATION_ERROR",
        r"campos? obligatorios?|longitud correcta|en el (futuro|pasado)|solo se (admiten|aceptan"
        r"|permiten) (archivos|formatos)|no puede superar|contraseñas no coinciden|términos y "
        r"condiciones|condiciones de uso",
    ),
)
TABLES: dict[str, tuple[tuple[FailureType, str], ...]] = {
    "": tuple((name, rf"\b(?:{words})") for name, words in _ENGLISH),
    "chinese": _CHINESE,
    "german": _GERMAN,
    "french": tuple((name, rf"\b(?:{words})") for name, words in _FRENCH),
    "spanish": tuple((name, rf"(?<!\w)(?:{words})") for name, words in _SPANISH),
}
"""For each language, the types with their ways of saying, in the order in which they are tried."""
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
"""A whole message of such words says that something failed, and nothing else."""
