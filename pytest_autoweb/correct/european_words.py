"""Words that indicate the type of a failure in German, French and Spanish.

The texts of browsers and frameworks about forms come in the language of the page. The lists of each
language are tried in order, like those of English and Chinese in `failure_words`.
"""

import re

from pytest_autoweb.results.correction import FailureType

_GERMAN: tuple[tuple[FailureType, str], ...] = (
    (
        "VALIDATION_ERROR",
        r"muss (abgelehnt|akzeptiert|ausgefüllt) werden|darf (maximal|höchstens|nur)|unzulässig"
        r"|nicht zulässig|nicht autorisierten wert|darf nicht (leer|null)|dürfen nicht (leer"
        r"|null)|datei(typ|format"
        r"|endung).{0,20}nicht (erlaubt|zulässig|unterstützt)",
    ),
    (
        "BUSINESS_ERROR",
        r"(in|von) (diese[mr]|Ihre[mr]|unsere[mr]) (land|region|shop|geschäft)|nicht gesperrt"
        r"|kann erst|(gutschein|coupon|ticket|rabatt)\w*\b(?!.*(existiert|hinzu))"
        r".{0,40}(eingelöst|benutzt|abgelaufen|genutzt|nicht aktiv)",
    ),
    (
        "RESOURCE_CONFLICT",
        r"(existier|gibt|besteh)\w*.{0,50}(bereits|schon)|(gibt|ist|wird|wurde|sind|haben)"
        r" (\w+ )?(bereits|schon).{0,70}(exist|vorhanden|vergeben|registriert|verknüpft|hinzugefügt"
        r"|angelegt|belegt|zugewiesen|verwend|benutzt|genutzt|aktive?\b|warteliste|reserviert"
        r"|bestätigt|angemeldet|eingetragen)|(bereits|schon) .{0,40}hinzugefügt|(bereits"
        r"|schon) (vergeben|vorhanden|registriert|belegt"
        r"|verwendet|in verwendung|existier|angemeldet|bestätigt)|eindeutig sein"
        r"|(zwischenzeitlich|inzwischen).{0,40}(geändert|bearbeitet|gebucht|anderen)"
        r"|von (einem |einer )?anderen|(seite|datensatz|objekt|dokument).{0,50}gesperrt"
        r"|konflikt|bereits (aktualisiert|geändert|einem anderen)",
    ),
    (
        "SERVICE_UNAVAILABLE",
        r"zugriff.{0,40}fehler aufgetreten",
    ),
    (
        "PERMISSION_ERROR",
        r"passwort ist abgelaufen|zurücksetzen des passworts ist nicht|authentizität"
        r"|konto oder -|(oder|und|/) ?(das |ein |dein |ihr )?(passwort"
        r"|kennwort)\b.{0,25}(ungültig|falsch"
        r"|stimm|inkorrekt)"
        r"|schlüssel|anmeldung.{0,10} (fehlgeschlagen|gescheitert)|konto bestätigen|berechtig"
        r"|\brechte?\b|zugriff|\bzugang\b|zugangsdaten|anmeldedaten"
        r"|anmelden|\bmelden sie"
        r"|angemeldet|abgemeldet|einloggen|eingeloggt|verboten|CSRF|befugt"
        r"|(?<!faktor-)authentifizier|autorisier"
        r"|(sitzung|session|token|anmeldung)\b.{0,25}(abgelaufen|verfallen)"
        r"|(benutzer|konto|account|zugang)\w*\b.{0,25}(inaktiv|gesperrt|deaktiviert|nicht aktiv"
        r"|nicht freigeschaltet|nicht bestätigt)|groß-/kleinschreibung"
        r"|(benutzername|anmeldename|nutzername|e-mail)\S*(\s?/| und| oder| und/oder).{0,20}"
        r"(passwort|kennwort)|(konto|e-mail-adresse).{0,25}(zuerst|zunächst) bestätig",
    ),
    (
        "DATA_NOT_FOUND",
        r"(nicht|kein\w*)\b.{0,70}(gefunden|finden)|existier\w*.{0,70}nicht\b|nicht existier"
        r"|kein\w* (treffer|ergebnis|daten|einträge)|nicht mehr vorhanden|(gesuchte"
        r"|angeforderte|gewünschte) (seite|datei).{0,40}nicht|unbekannte?r? (benutzer"
        r"|nutzer|seite)|ungültige[rs]? (seite|hyperlink|\w+-id)\b|keinem konto",
    ),
    (
        "SERVICE_UNAVAILABLE",
        r"zu viele\b.{0,50}(anfrag|versuch|aktion|zugriff)|gedrosselt|zeitüberschreitung|zeitlimit"
        r"|wartung|(intern|unerwartet|unbekannt)\w*.{0,12}fehler|serverfehler"
        r"|fehler (ist )?(aufgetreten|beim)|fehler aufgetreten|später (noch ?einmal|erneut|wieder)"
        r"|nicht erreichbar|verbindung|überlastet|fehler (ist )?aufgetreten|server.{0,25}fehler"
        r"|(nicht"
        r"|konnte)\b.{0,50}verbinden|bitte warten|warten sie|gateway|beschäftigt"
        r"|vorübergehend|netzwerk"
        r"|(dienst|server|service)\b.{0,20}nicht (mehr )?verfügbar",
    ),
    (
        "BUSINESS_ERROR",
        r"lager|vorrätig|ausverkauft|vergriffen|warenk[oö]rb|gutschein|coupon|rabatt|mindestbestell"
        r"|höchst(menge|gewicht)|menge\b|nicht (mehr )?(verfügbar|erhältlich|lieferbar|aktiv)"
        r"|liefern nicht|lieferart|guthaben|zahlung|abgelehnt|storniert|eingelöst|bezahlt|versandt"
        r"|abgeschlossen|abgelaufen|(kann|können|kannst|darf|dürfen)\b.{0,70}(nicht"
        r"|kein\w*)\b.{0,60}"
        r"(lösch|änder|bearbeit|stornier|erstell|erzeug|kopier|deaktivier|abbrech|leer(en|t)"
        r"|versen|tausch|liefer|entfern|kauf|verwende"
        r"|benutz|erwerb|schließ|geschlossen|hinzufüg|zurück|ausgeführt|umgewandelt)|\blöschen$"
        r"|geschützt|abonnement|nicht mehr als \d+|\d+ können|stück\b|(da"
        r"|weil) .{0,30}nicht leer|kombination"
        r"|lieferart|nicht (erlaubt|gestattet|möglich)|objekte aus der liste|stückzahl"
        r"|mit bestellungen",
    ),
    (
        "PARAMETER_ERROR",
        r"(fehlerhafte|ungültige|falsche) (anfrage|suche|syntax)|parameter|kopfzeile|base64"
        r"|nicht unterstützt",
    ),
    (
        "VALIDATION_ERROR",
        r"bitte\b|ausfüllen|ausgefüllt|füllen?\b|pflichtfeld|erforderlich|zwingend|gültig\w*|muss\b"
        r"|müssen|darf (nicht|kein)|dürfen (nicht|kein)|negativ|hochgeladen|hochladen"
        r"|reserviert|mindestens|höchstens|stimm\w+ nicht|überein|identisch"
        r"|falsch\w*|eingabe|eingeben|eingegeben|format|muster|zeichen|wählen?\b|\bgib\b|klicke"
        r"|verlängere|kürze|verwende|zu (kurz|lang|klein|groß|schwach|einfach)|korrigier"
        r"|benötigt|kein\w* \S+ (aus)?gewählt"
        r"|übermittelt|leer|akzeptiert|ist kein|sind kein|nicht korrekt|größer|kleiner|gleich"
        r"|gerade|vergangenheit|zukunft",
    ),
    ("BUSINESS_ERROR", r"(kann|können|konnten?)\b.{0,70}\bnicht\b"),
    ("RESOURCE_CONFLICT", r"doppelt|bereits|schon"),
)
_FRENCH: tuple[tuple[FailureType, str], ...] = (
    (
        "VALIDATION_ERROR",
        r"(type|format|extension) (de|du) (fichier|contenu)|aucune? .{0,40}sélectionn"
        r"|la taille d|extension|domaine|taille maximale|date future|ne (peut|doit|peuvent"
        r"|doivent) pas être"
        r" (vide|nul|blanc|vierge|laiss)|^(ce|le) champ\b|doi(t|vent) être (rempli|accept|vide)",
    ),
    (
        "BUSINESS_ERROR",
        r"(code promo|coupon|bon|billet|ticket|remise|carte cadeau|chèque)\b.{0,50}(utilisé"
        r"|expiré|valable|valide)"
        r"|dans (ce|votre) pays|par (cette|notre) boutique|par ce(tte)? (magasin|enseigne)|tant que"
        r"|n['’](était|est) pas verrouill",
    ),
    (
        "RESOURCE_CONFLICT",
        r"déjà (été )?(utilisé|pris|exist|enregistr|associ|inscrit|attribu|ajout|présent|réserv"
        r"|confirm|connect)|existe(nt)? déjà|(modifiée?s?|mises? à jour) par|verrouillée? par"
        r"|conflit|entre-temps"
        r"|doublon|en cours d['’](utilisation|édition|modification)|doit être unique"
        r"|déjà (mise?|été mise?) à jour",
    ),
    (
        "SERVICE_UNAVAILABLE",
        r"(se connecter|connexion) (à la|à l|au|aux) ?['’]?(serveur|service|méthode|passerelle"
        r"|base)",
    ),
    (
        "PERMISSION_ERROR",
        r"\bdroits?\b|mot de passe a expiré|lien de récupération|\bjeton|activé votre compte"
        r"|clé (d['’])?api|autoris|permission|accès (refus|interdit|non|limit)"
        r"|interdit|connecté"
        r"|(vous|se|de) (re)?connecter|(re)?connectez|(session|jeton).{0,25}expir|identifiants?\b"
        r"|(nom d['’]utilisateur|e-?mail|courriel|login)\b.{0,25}mot de passe"
        r"|(compte|utilisateur)\b.{0,30}(désactivé|bloqué|verrouillé|suspendu|inactif|n['’]est pas"
        r" (encore )?activ|n['’]a pas été (activé|confirmé))|CSRF|authentifi"
        r"|confirmer votre (compte|adresse|e-?mail)",
    ),
    (
        "DATA_NOT_FOUND",
        r"introuvable|impossible de trouver|(n['’]avons|n['’]ai) (pas )?trouvé"
        r"|n['’]existe(nt)? (pas|plus)|aucune? (résultat|donnée|enregistrement|page)"
        r"|aucune?\b.{0,40}(trouv|ne correspond|disponible)|(pas|non) (été )?trouv"
        r"|pas (pu )?trouver"
        r"|inexistante?",
    ),
    (
        "SERVICE_UNAVAILABLE",
        r"erreur (interne|inattendue|serveur|du serveur|réseau|technique)"
        r"|erreur.{0,15}(survenue|produite)|(plus tard|ultérieurement|dans (une|un|\d+|quelques)"
        r" (seconde|minute|heure|instant|moment)s?)|patient(er|ez)|avant de réessayer|erreur lors d"
        r"|passerelle|temporair|service.{0,25}indisponible|(délai|temps) (d['’]attente|de (réponse"
        r"|connexion))|trop de (tentatives|requêtes|demandes|connexions)|serveur|maintenance"
        r"|connexion|surcharg|réseau|injoignable",
    ),
    (
        "BUSINESS_ERROR",
        r"rupture|stock|épuisé|indisponible|(plus|pas) disponible|retourné|code promo|coupon"
        r"|panier|paiement|solde"
        r"|refusée?|commande\b.{0,50}(annul|expédi|pay|minim|modifi|peut)|(montant|minimum) (de"
        r" commande|minimum)|insuffisant|ne (peu\w+|pouvez|pouvons) (pas|plus)\b.{0,40}(annul"
        r"|supprim|modifi|livr|ajout|retir|créé|créer|commander|payer|désactiv)|expiré|livr"
        r"|déjà (été )?(payé|expédi|annul|rembours|livr|clôtur|valid)|protégé|abonnement"
        r"|avec (des|les) commandes|inventaire|n['’]a pas pu|ne peut (pas )?être (fermée?"
        r"|ré-?ouverte?|archivée?|supprimée?|rattachée?|déplacée?|modifiée?|annulée?)"
        r"|impossible d(e |['’])(changer|saisir|enregistrer|détruire|supprimer|modifier"
        r"|annuler|ajouter|créer)|clos",
    ),
    (
        "PARAMETER_ERROR",
        r"paramètre|requête (invalide|incorrecte|mal)|mal formée?|argument|syntaxe|en-tête",
    ),
    (
        "VALIDATION_ERROR",
        r"veuillez|merci de|merci d['’]|saisi|obligatoire|requise?\b|doit\b|doivent|devez"
        r"|n['’]est pas|ne sont pas|non valide|invalide|incorrecte?|valide|correspond"
        r"|antérieur|trop (simple|court|long|petit|grand|volumineux|lourd|élevé|faible|de|gros)"
        r"|caractères?|format"
        r"|sélectionn|renseign|au (moins|plus)|rempli|vide|accept|chiffre|supérieur|inférieur"
        r"|égale?"
        r"|erroné|choisi|concorde|télévers|réservé|fuite|impaire?|fournir|cocher|manquant"
        r"|correct|champ",
    ),
)
_SPANISH: tuple[tuple[FailureType, str], ...] = (
    (
        "VALIDATION_ERROR",
        r"(tipo|formato|extensión) (de|del) archivo|^extensión|fecha futura|tamaño máximo"
        r"|corrij|corrig|no está incluid"
        r"|no se ha seleccionado|^el campo\b(?!.{0,60}(protegid|ya |únic))"
        r"|tarjeta de crédito inválida|número de tarjeta",
    ),
    (
        "BUSINESS_ERROR",
        r"(para|en) (este|su|tu) país|(con|por|en) esta tienda|no estaba bloquead|ya (fue"
        r"|ha sido) (utilizad|canjead|usad)",
    ),
    (
        "RESOURCE_CONFLICT",
        r"\bya (existe|se (encuentra|utiliza|ha registrado)|está (en|registrad|asociad|ocupad"
        r"|disponible en|siendo|cogid|confirm)|estaba|tiene|tienes|hay (un|registrad)"
        r"|ha sido (tomad|registrad|cogid|confirmad|ocupad)|fue (confirmad|registrad|tomad))"
        r"|(nombre|correo|usuario).{0,40}ya existe|duplicad|modificad\w+ por|conflicto"
        r"|bloquead\w* (para|por)|en uso|debe ser únic|ha iniciado sesión ya|otro usuario"
        r"|por otra|existe otr[oa]|ya (se ha|ha sido|fue|lo has|la has) (actualiz|añad|agreg)"
        r"|ya está asignad|campo .{0,40}ya ha sido|ya (añad|agreg)"
        r"|ya ha iniciado",
    ),
    (
        "PERMISSION_ERROR",
        r"permisos?\b|prohibid|acceso (denegad|restring|no)|contraseña ha (expirado|caducado)"
        r"|enlace de recuperación|activado su cuenta|clave (de )?api|autorizad"
        r"|autorización|inici(e|ar|a|es|ado) (la )?"
        r"sesión|sesión.{0,25}(caduc|expir|finaliz)|finalizado su sesión|credencial|CSRF"
        r"|autentic\w+\b(?! de dos)|mayúsculas|identificarse|derechos"
        r"|(usuario|correo\w*|cuenta|e-?mail)\b.{0,30}(contraseña|clave)"
        r"|(cuenta|usuario)\b.{0,30}(inactiv|bloquead|desactivad|suspendid|deshabilitad|activad)"
        r"|registrado!|usuarios registrados|token\b.{0,15}(expir|caduc)|confirmar (su|tu) (cuenta"
        r"|correo|e-?mail)",
    ),
    (
        "DATA_NOT_FOUND",
        r"no (pudimos|pudo|podemos|logramos) encontrar|no encontramos"
        r"|no se encuentra (?!disponible|actual)|no (existen?|encontrad\w+"
        r"|ha sido encontrad\w+)\b|no (se )?(ha |han |hemos "
        r"|pudo )?(podido )?"
        r"(ser )?encontr(ado|ada|ó|aron|ar)\b|inexistente|(sin|ningún|no (hay"
        r"|contiene)) (resultados?"
        r"|datos|registros|coincidencias)|(página|hiperenlace|ID de \w+)\b.{0,40}inválid"
        r"|no está asignad|desconocid",
    ),
    (
        "SERVICE_UNAVAILABLE",
        r"error (interno|inesperado|del servidor|en el servidor|de (red|conexión))"
        r"|(producido|ocurrido|ocurrió|sucedido|produjo) (un )?error"
        r"|demasiad\w+ (intentos|peticiones|solicitudes|consultas|operaciones)|más tarde"
        r"|tiempo de espera|temporalmente|servidor|conexión|mantenimiento|throttled|sobrecargad"
        r"|servicio\b.{0,20}no (está )?disponible|(en|dentro de) \d+ (segundos|minutos)"
        r"|error interno|imposible conectar|no responde|espere|antes de (intentar|volver)"
        r"|puerta de enlace|pasarela",
    ),
    (
        "BUSINESS_ERROR",
        r"stock|suficiente|fue imposible|no ha podido ser|reembolsad|destru[ií]|agotad"
        r"|existencias|cupón|descuento|carr(ito"
        r"|o)s?\b|vale de|tarjeta (de )?regalo"
        r"|tarjeta.{0,40}(rechaz|caduc|expir)|envío|envíos"
        r"|pedido\b.{0,50}(pag|cancel|enviad|mínim|no (se )?pued|complet)|\bpago\b|saldo|protegid"
        r"|(no\b.{0,30}|unidades |quedan .{0,20})disponibles?|ya no est|no (se )?(pued|es posible)"
        r"\w*\b.{0,40}(abrir|archiv|registr|mov|cancel|elimin|borr|edit|modific|cre(ar|ad)|pag"
        r"|gener|cambi|añad|desactiv"
        r"|copi"
        r"|subst|complet|guardar|realizar|devol|reembols|vaci|envi|entreg)|pueden crearse"
        r"|suscripción|peso máximo"
        r"|cantidad de compra|un máximo|canjead|completado|caducad|expirad|combinación|rechazad"
        r"|deben seleccionar elementos|insuficiente|restablecimiento|no realizamos"
        r"|no está permitido"
        r"|puede crearse",
    ),
    (
        "PARAMETER_ERROR",
        r"parámetro|solicitud\b.{0,30}(incorrect|formato|inválid|mal)|cabecera|base64|sintaxis"
        r"|consulta no es|argumento|petición (incorrecta|inválida|mal)",
    ),
    (
        "VALIDATION_ERROR",
        r"obligatori|requerid|requiere|necesari|deben?\b|válid|valid|inválid|coincid|incorrect"
        r"|introdu|rellen|complet[ae]|seleccion|utiliza|ingres|escrib|elija|elige|proporcione"
        r"|demasiado (cort|larg|grand|pequeñ|débil)|caracteres|formato|en blanco|nul[oa]|vací"
        r"|al menos|como (mínimo|máximo)|superior|inferior|mayor|menor|campo|archivo|evite"
        r"|incluy|antes|después|posterior|contraseña"
        r"|ajústese|aumenta|marque|marca|errores|acept|solo uno|igual|reservad|subir|subid"
        r"|cargar|impar|es un número|no es una?\b",
    ),
)
_SIGNS = {
    "english": r"\b(the|is|are|an?|of|to|not|please|this|that|your|you|must|be|with|has|have|been"
    r"|for|in|on|at|and|or|was|were|it|value|field|can|after|error|failed|returned|by|from"
    r"|invalid)\b",
    "german": r"\b(der|die|das|dem|den|des|eine?[nrsm]?|nicht|keine?[nrsm]?|bitte|sie|ist|sind|muss"
    r"|müssen|wurden?|wird|darf|wert|feld|zu|zum|zur|und|oder|für|mit|von|aus|bereits|ihre?[nmrs]?"
    r"|leider|im|auf|konnten?|kann|hat|haben|dieser?s?|es|als)\b|[äöüß]|\b\w+(ung|lich|keit)\b",
    "french": r"\b(le|la|les|un|une|des|du|de|cette?|ce|est|sont|pas|votre|vos|vous|veuillez|doit"
    r"|être|déjà|aux?|pour|avec|dans|et|merci|aucune?|impossible|champ|page|plus|trop|par"
    r"|identifiants|mot|compte|erreur|(in)?valide|incorrects"
    r"|saisie|adresse)\b"
    r"|[éèêàçùœûî]|\b(qu|[ldnqs])['’]",
    "spanish": r"\b(el|la|los|las|una?|es|son|no|est[ea]|sus?|se|debe|por|favor|de|del|ya|ha|para"
    r"|con|en|que|al|y|campo|valor|más|muy|lo|tu|fue|sin|demasiado|usuario|\w+(ad[oa]|id[oa]"
    r"|ct[oa])s?)\b"
    r"|[ñ¿¡áíóú]",
}
"""Small words and letters by which a language is told from the other ones."""
_READ = 2_000
"""The most characters of a message by which its language is told."""

# German joins words into one, so what decides may stand in the middle of a word.
TABLES = {
    language: [(name, rf"{border}(?:{words})") for name, words in table]
    for language, border, table in (
        ("german", "", _GERMAN),
        ("french", r"\b", _FRENCH),
        ("spanish", r"(?<!\w)", _SPANISH),
    )
}
"""For each language, the types with their words, in the order in which they are tried."""


def language_of(message: str) -> str:
    """Return `german`, `french` or `spanish`, or empty for English and all other languages."""
    read = message[:_READ]
    found = {name: len(re.findall(signs, read, re.IGNORECASE)) for name, signs in _SIGNS.items()}
    best = max(found, key=lambda name: found[name])
    return best if best in TABLES and found[best] > found["english"] else ""
