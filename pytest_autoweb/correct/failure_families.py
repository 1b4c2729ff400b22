"""What messages of a family say in any application: who may, there is no such, somebody was faster.

The lists in `failure_words` and `european_words` hold the words of applications. A family is a way
of saying, with its stems and negations and with room for the thing that it is said of; so it is
looked for before them. `docs/calibration.md` says how often that is right.
"""

from pytest_autoweb.results.correction import FailureType

_ENGLISH: tuple[tuple[FailureType, str], ...] = (
    (
        "PARAMETER_ERROR",
        r"(unknown|unrecogni[sz]ed|unexpected|duplicate) (\w+ )?(parameter|argument|header"
        r"|property|field [\"'`]\w+[\"'`] ?(\(|on|in))|(required|missing) (\w+ )?(parameter"
        r"|argument|header)|(parameter|argument|header)s? .{0,40}(is missing|not present"
        r"|expected|unknown)|(malformed|invalid|bad) (json|xml|request) (body|payload)"
        r"|cannot query field|(could(n['’]t| not)|cannot|failed to|unable to) (parse|decode"
        r"|deserialize) .{0,20}(json|body|payload|request|xml|yaml)|no route matches",
    ),
    (
        "SERVICE_UNAVAILABLE",
        r"((is|are|was|does|did)( not|n['’]t)|stopped|not) respond\w*|no (answer|reply"
        r"|response) from|on our (end|side)|(team|engineers|administrators?) (has"
        r"|have) been (notified|informed)|heavy load|(high|heavy) traffic"
        r"|technical difficult\w+|check your (internet|network|connection)|took too long"
        r"|connection (\w+ ){0,2}(reset|lost|interrupted|dropped|aborted)|rate[- ]limit"
        r"|too many requests|retry after",
    ),
    (
        "RESOURCE_CONFLICT",
        r"(just|moments? ago|meanwhile|in the meantime|since you|while you) .{0,60}(booked"
        r"|taken|reserved|changed|edited|modified|updated)|(booked|taken|reserved|changed"
        r"|edited|modified|updated|locked|opened|checked out) (for \w+ )?by (another|someone"
        r"|somebody|a different|other|[A-Z]\w+)|(someone|somebody|another (user|person"
        r"|customer|editor|process|session|device|tab)) (else )?(is |has |was "
        r"|have )?(already |just )?(edit|chang|book|reserv|tak|lock|updat|modif|using)\w*"
        r"|another .{0,30}(already )?(running|in progress)|already (running|in progress|being)"
        r"|(edit|merge|version|write)[- ]conflict|(destination|target) .{0,12}exists"
        r"|no longer (free|vacant)|e-?mail\b.{0,20}\b(already|been) (registered|taken)",
    ),
    (
        "PERMISSION_ERROR",
        r"(restricted|reserved|available|open|visible|accessible) (only )?(to"
        r"|for) (\w+ )?(admin|member|owner|staff|subscriber|moderator|employee|registered"
        r"|logged)\w*|only .{0,20}(admin\w*|owners?|members?|moderators?|staff|managers?"
        r"|editors?|creator|author)\b.{0,12}\b(can|may|are allowed|is allowed)|(admin\w*"
        r"|members?|staff) only\b|(e-?mail|user ?name|login)\b.{0,10}( or | and |/)(the "
        r"|your )?password\b.{0,25}(wrong|incorrect|invalid|not (correct|match|recogni))"
        r"|account (is|was|has been) (\w+ )?(locked|suspended|blocked|banned|disabled"
        r"|deactivated)\b|(confirm|verify|activate) (your|the) .{0,12}(e-?mail|account)",
    ),
    (
        "BUSINESS_ERROR",
        r"(only|just) (\d+|one|two|three|a few) .{0,20}(left|remaining|in stock)|(balance"
        r"|credit|points|funds)\b.{0,20}(too low|insufficient|not (enough|sufficient))"
        r"|insufficient (funds|balance|credit|points|stock)|only (possible"
        r"|allowed) (with)?in\b|no longer (possible|be (\w+ )?(chang|cancel|edit|refund|return"
        r"|modif)\w*)|(already )?been (redeemed|shipped|refunded)|(your|current|free) (plan"
        r"|subscription|package|tier|licen[cs]e)\b.{0,12} (not|n['’]t) (include|allow|support"
        r"|cover)|(limited|limit) (to|of) (one|two|\d+) per\b|(registration|voting|enrol\w*"
        r"|poll|sale|sales|submissions?)\b.{0,30}(closed|ended|not yet open)|was declined"
        r"|(last|only) remaining|cannot be (completed|closed|deleted|cancelled"
        r"|canceled) (while|until|because|after|before)|already (voted|reviewed)",
    ),
    (
        "DATA_NOT_FOUND",
        r"there(['’]s| is| are) (currently )?no \w+( \w+)? (associated|with|for|matching"
        r"|called|named|registered)|no \w+( \w+)? (is |was |are |were )?(associated|match\w*"
        r"|called|named|by that)|never existed|(may|might|could) have been (moved|removed"
        r"|deleted)|no longer exists?|(nothing|none) (was )?(found|matches)|broken link|(does"
        r"|did|do)(n['’]t| not) exist\b|(has|was|been) (deleted|removed) (or|by its)",
    ),
    (
        "VALIDATION_ERROR",
        r"(does|do)(n['’]t| not) look like|(limited|restricted) to \d+ (character|digit|word"
        r"|letter)s?|wrong (number|amount) of (digits|characters|letters)|captcha|(agree"
        r"|accept|consent) (to )?(the|our|these|all) (terms|conditions|privacy|rules|polic\w+)"
        r"|(unsupported|recogni[sz]ed|correct|right) (file )?(format|type)|(can ?not|can['’]t"
        r"|must not) be (left )?(empty|blank)|has to be (a|an|at|in|between|after|before"
        r"|greater|less|positive)\b",
    ),
)
_CHINESE: tuple[tuple[FailureType, str], ...] = (
    (
        "PARAMETER_ERROR",
        r"(请求体|请求头|请求参数|入参|报文).{0,16}(不是|非法|缺|错误|无效|未知|不合法|有误"
        r"|不支持)|参数.{0,12}(非法|不合法|无效|缺失|未知)|(缺少|缺失|未知|非法"
        r"|多余)的?.{0,4}(参数|请求头|header|[\w-]+ ?头)|无法解析.{0,6}(请求|参数|报文|JSON)"
        r"|不支持的?请求?(方法|媒体)|不存在的(接口|方法)|(接口|方法)不存在",
    ),
    (
        "SERVICE_UNAVAILABLE",
        r"无响应|没有(响应|回应|应答)|抢修|人数过多|拥挤|网络(异常|错误|不给力|繁忙|中断|波动)"
        r"|(服务|服务器|接口)(异常|错误|繁忙|开小差|故障)|(连接|数据库).{0,8}(失败|超时|中断"
        r"|重置)",
    ),
    (
        "RESOURCE_CONFLICT",
        r"(已经?|刚刚?|刚才)?被.{0,3}(他人|其他|别人|另一|别的).{0,8}(修改|更新|编辑|选|订|定"
        r"|抢|占|锁|使用)|正(在)?被.{0,10}(编辑|使用|占用|打开|修改)|正在.{0,6}(执行|运行|处理"
        r"|编辑).{0,6}(勿|不要|不能|不可)|请勿重复|[段位座].{0,6}已.{0,3}(约|订|占|定)"
        r"|有(更)?新(的)?版本|(唯一|主键)性?约束|(邮箱|手机号?|用户名|昵称|账号)已经?(被?注册"
        r"|存在|被?占用|被?使用)",
    ),
    (
        "PERMISSION_ERROR",
        r"仅(限|对)?.{0,8}(管理员|会员|成员|所有者|员工|注册用户|作者|本人).{0,4}(可|能|才"
        r"|开放|使用|访问|查看|操作)|只有.{0,10}(管理员|会员|成员|所有者|作者|本人).{0,4}(可"
        r"|能)|(仅|只)对.{0,8}开放|(链接|邀请).{0,6}(失效|过期|无效)|(账|帐)[号户].{0,3}(冻结"
        r"|锁定|封)",
    ),
    (
        "BUSINESS_ERROR",
        r"起送|还差\S{0,6}元|未满.{0,8}元|(不|无法|不能|不可|不得|不予).{0,4}(退票|退款|退货"
        r"|改签|提现|兑换|转让|开票)|至少(需要?)?保留|(当前|该)状态|套餐.{0,8}(不|升级)|(限额"
        r"|额度)|[已被](核销|兑换)|(报名|投票|活动|申请|预约).{0,4}(截止|结束|未开始)|(活动"
        r"|抢购).{0,3}尚未",
    ),
    (
        "DATA_NOT_FOUND",
        r"未(能)?(找到|查询到|查到|检索到|搜到)|从未存在|走丢|已(经)?解散|查无|(内容|页面|商品"
        r"|帖子|视频|文章).{0,4}已?(经)?被?(作者)?(删除|移除|下架)",
    ),
    (
        "VALIDATION_ERROR",
        r"(勾选|同意).{0,8}(协议|条款|政策|声明|须知)|(位数|字数|长度).{0,4}(不|应|错|有误|超)"
        r"|格式(不对|有误|错误|应)|必须(同时)?(包含|晚于|早于|大于|小于)|不得(超过|少于|多于"
        r"|包含)|未填写|未填|(短信|图形|输入的)验证码.{0,4}(过期|错误|不正确|有误|无效)",
    ),
)
_GERMAN: tuple[tuple[FailureType, str], ...] = (
    (
        "PARAMETER_ERROR",
        r"(anfrage|request)\b.{0,30}(json|body|header|kopfzeile)|(pflicht)?parameter\b"
        r"|(methode|medientyp) nicht (erlaubt|zulässig|unterstützt)",
    ),
    (
        "SERVICE_UNAVAILABLE",
        r"(antwortet|reagiert)( \w+)? nicht|nicht geantwortet|bei uns\b.{0,20}schief"
        r"|verbindung\b.{0,40}(unterbrochen|abgebrochen|verloren|zurückgesetzt|getrennt)"
        r"|dauerte? zu lange|internetverbindung|technische\w* (problem|störung|schwierigkeit)",
    ),
    (
        "RESOURCE_CONFLICT",
        r"(gerade|soeben|inzwischen|zwischenzeitlich|zwischenzeit|seitdem)\b.{0,50}(gebucht"
        r"|reserviert|geändert|bearbeitet|vergeben|belegt|aktualisiert)|von (jemand"
        r"|einem anderen|einer anderen|anderen)\b.{0,40}(gebucht|reserviert|geändert"
        r"|bearbeitet|gesperrt|belegt|gelöscht)|(schon|bereits) (vergeben|belegt)"
        r"|läuft (bereits|schon)|bearbeitungskonflikt",
    ),
    (
        "PERMISSION_ERROR",
        r"\bnur\b.{0,20}(administrator|admin|mitglied|inhaber|eigentümer|moderator|mitarbeiter"
        r"|angemeldet|registriert)\w*\b.{0,40}(verfügbar|verfügung|dürfen|können|darf|kann"
        r"|zugänglich|vorbehalten|möglich|erlaubt|sichtbar)|(administrator|mitglied"
        r"|mitarbeiter|moderator)\w* vorbehalten|\blink\b.{0,60}(abgelaufen|nicht mehr gültig"
        r"|ungültig)|(anmelde|zugangs|login)-?daten\b.{0,30}(falsch|nicht|ungültig|inkorrekt"
        r"|fehlerhaft)|(bestätig|verifizier)\w*\b.{0,20}e-mail",
    ),
    (
        "BUSINESS_ERROR",
        r"nur noch (\d+|ein\w*|wenige)\b|stornierung|(rückgabe|umtausch|erstattung|buchung"
        r"|änderung)\w*\b.{0,30}(nicht mehr|nur) .{0,40}möglich|(lässt"
        r"|lassen) sich\b.{0,20}nicht( mehr)? (ändern|löschen|bearbeiten|stornieren"
        r"|verschieben)|letzte\w* (administrator|admin|inhaber|eigentümer|besitzer)"
        r"|frist\b.{0,20}(abgelaufen|beendet|vorbei|verstrichen)|pro (kunde|haushalt|person)\b"
        r"|(tarif|paket|abo)\b.{0,30}nicht (enthalten|inbegriffen)",
    ),
    (
        "DATA_NOT_FOUND",
        r"\bkein\w*\b.{0,60}(vorhanden|gefunden|hinterlegt|zugeordnet|bekannt)"
        r"|nicht mehr (in unserem|im) (sortiment|katalog|angebot)|nie existiert|(gelöscht"
        r"|entfernt|verschoben) oder|(benutzer|nutzer|kunde|artikel"
        r"|produkt)\w* (ist )?unbekannt",
    ),
    (
        "VALIDATION_ERROR",
        r"pflicht(feld|angabe)|richtige (länge|anzahl)|in der (zukunft|vergangenheit)"
        r"|erlaubt sind nur|nur\b.{0,20}(dateitypen|formate|dateien)|\bAGB\b|(nutzungs"
        r"|geschäfts)bedingungen",
    ),
)
_FRENCH: tuple[tuple[FailureType, str], ...] = (
    (
        "PARAMETER_ERROR",
        r"(corps|en-tête) de (la )?requête|paramètre\b|méthode non (permise|autorisée|prise)",
    ),
    (
        "SERVICE_UNAVAILABLE",
        r"ne répond(ent)? (pas|plus)|n['’]a pas répondu|de notre côté"
        r"|connexion\b.{0,30}(interrompue|perdue|coupée|réinitialisée)|momentanément"
        r"|mis trop de temps|connexion internet|(problème|incident)s? techniques?",
    ),
    (
        "RESOURCE_CONFLICT",
        r"(vient d['’]être|entre-?temps)\b.{0,40}(réservé|modifié|pris|changé|attribué)"
        r"|en cours (de modification|d['’](édition|utilisation)) par|(réservée?|modifiée?"
        r"|verrouillée?|prise?) par (une? autre|quelqu|d['’]autre)|est déjà prise?"
        r"|déjà en cours|conflit",
    ),
    (
        "PERMISSION_ERROR",
        r"(réservée?s?|accessibles?) (uniquement |seulement )?(aux?|à l['’]) ?(admin|membre"
        r"|modérateur|propriétaire|personnel|utilisateur|abonné|client)\w*|seule?s? (les? "
        r"|l['’])(admin|membre|modérateur|propriétaire|utilisateur)\w*.{0,20} (peu|pou)\w*"
        r"|lien\b.{0,50}(plus (valable|valide)|expiré|périmé)|vos identifiants\b.{0,20}(erron"
        r"|incorr|inval)|connectez-vous|(confirmez|vérifiez|validez|confirmer|vérifier"
        r"|valider)\b.{0,20}(e-?mail|courriel|compte)",
    ),
    (
        "BUSINESS_ERROR",
        r"il ne reste (plus )?que|(annulation|remboursement|retour"
        r"|modification)\b.{0,30}(n['’]est (possible|plus)|plus possible)|ne peu(t"
        r"|vent) plus être|(dernier|seul) (admin|propriétaire)\w*|(inscription|vente|vote"
        r"|candidature)s?\b.{0,20}(close|clôturé|terminé|fermé)"
        r"|délai\b(?! d['’]attente).{0,30}(expiré|dépassé|écoulé)|par (client|foyer"
        r"|personne)\b|bon d['’]achat",
    ),
    (
        "DATA_NOT_FOUND",
        r"n['’]est plus (au|dans (le|notre)) (catalogue|assortiment)|n['’]a jamais existé"
        r"|a été (supprimée?|déplacée?) ou|introuvable|(utilisateur|client|produit|page"
        r"|article)s?( \w+)? (est )?inconnue?|aucune? \S+( \S+)? (trouvée?|ne correspond"
        r"|avec cet?)|il n['’]y a aucune?",
    ),
    (
        "VALIDATION_ERROR",
        r"champs? obligatoires?|bonne longueur|dans le (futur|passé)|seuls? les (fichiers"
        r"|formats|extensions)|ne doit pas dépasser|ne sont pas identiques"
        r"|conditions (générales|d['’]utilisation)|^(choisissez|sélectionnez|saisissez"
        r"|renseignez|remplissez)",
    ),
)
_SPANISH: tuple[tuple[FailureType, str], ...] = (
    (
        "PARAMETER_ERROR",
        r"cuerpo de la (solicitud|petición)|parámetro|método no (permitido|admitido|soportado)",
    ),
    (
        "SERVICE_UNAVAILABLE",
        r"no (responde|ha respondido|respondió)\b|por nuestra parte"
        r"|interrump\w+ .{0,12}conexión|conexión\b.{0,30}(interrump|perd|cort)\w*"
        r"|tardado demasiado|conexión a internet|(problema|dificultad)\w* técnic\w+"
        r"|tiempo de espera",
    ),
    (
        "RESOURCE_CONFLICT",
        r"acaba de (reserv|modific|cambi)\w+|(otra persona|otro (usuario|cliente)"
        r"|alguien)\b.{0,40}(reserv|modific|edit|cambi|actualiz)\w*|está (editando|modificando"
        r"|usando|utilizando)|ya está (en uso|ocupad|reservad)|ya (está|hay) .{0,20}en curso",
    ),
    (
        "PERMISSION_ERROR",
        r"(reservad|restringid|disponible)\w* (solo |solamente |únicamente )?(a|para) (los "
        r"|las |el |la )?(admin|miembro|moderador|propietari|personal|usuario|suscriptor)\w*"
        r"|s[óo]lo (el |los |un )?(admin|miembro|propietari|moderador)\w* pued\w+"
        r"|enlace\b.{0,60}(caduc|expir|no es válido|ya no)|datos de acceso\b.{0,30}(no"
        r"|incorrect|erróne)|(inicia|inicie) sesión|(confirm|verifi)(e|a|ar|que|car"
        r"|ca)\b.{0,20}(correo|e-?mail|cuenta)",
    ),
    (
        "BUSINESS_ERROR",
        r"s[óo]lo queda\w* \d|puede cancelar\b.{0,20}hasta|último (administrador|propietario)"
        r"|(cupón|vale)\b.{0,20}\bya\b(?! está disponible)|(plazo|inscripci|votaci"
        r"|per[ií]odo)\w*\b.{0,40}(termin|cerrad|finaliz|vencid|concluid|expirad)\w*"
        r"|por (cliente|hogar|persona)\b|ya no se puede",
    ),
    (
        "DATA_NOT_FOUND",
        r"no hay ningun?a? |no hay ningún |ya no está en (nuestro|el) (catálogo|surtido)"
        r"|nunca existió|fue (eliminad|movid|borrad)\w* o\b|no encontramos",
    ),
    (
        "VALIDATION_ERROR",
        r"campos? obligatorios?|longitud correcta|en el (futuro|pasado)|solo se (admiten"
        r"|aceptan|permiten) (archivos|formatos)|no puede superar|contraseñas no coinciden"
        r"|términos y condiciones|condiciones de uso",
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
