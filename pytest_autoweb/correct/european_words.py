"""Words that indicate the type of a failure in German, French and Spanish.

Form messages of browsers and frameworks come in the page's language. Each language's lists are
tried in order, like those of English and Chinese in `failure_words`.
"""

import re

from pytest_autoweb.results.record import FailureType

_GERMAN: tuple[tuple[FailureType, str], ...] = (
    # Messages worded in the same few ways everywhere come first.
    ("BUSINESS_ERROR", r"(limit|grenzwert)\w*\b.{0,40}(erreicht|überschritten)"),
    ("PARAMETER_ERROR", r"ungültige parameter|anfrage\b.{0,40}syntax"),
    (
        "SERVICE_UNAVAILABLE",
        r"(kann|konnte)\b.{0,50}nicht (laden|erreich\w+|aktualisiert|beendet)|keine antwort"
        r"|installation fehlgeschlagen|trat ein fehler auf|wieder online"
        r"|fehlgeschlagen\. bitte versuchen|problem (ist )?(aufgetreten)"
        r"|problem\b.{0,60}aufgetreten|gab ein problem|systemproblem|(unerwarteter"
        r"|unbekannter) fehler|wurden?(\(n\))? nicht \w+(t|en)\b[,.]? bitte"
        r"|nicht erfolgreich[,.] bitte versuchen|konnten? .{0,60}(nicht|kein).{0,20}(verarbeite"
        r"|erhalten|senden|gesendet|gespeichert|(?<!hoch)geladen|zurückgesetzt|aufgelöst"
        r"|bearbeitet)|kann .{0,40}nicht speichern|\d (sekunden?"
        r"|minuten?)(\(n\))?.{0,40}(warten?|um eine|erstell)|bitte warte|warten, bevor"
        r"|abmeldung fehlgeschlagen",
    ),
    (
        "DATA_NOT_FOUND",
        r"es gibt keine|nicht registriert|gibt es nicht|keine?[rn]? \w+ (entsprech\w+|passen)"
        r"|keine suchergebnisse|existiert kein|nicht (vorhanden|gefunden)|unbekannter (benutzer"
        r"|nutzer)|kein benutzer$",
    ),
    (
        "PERMISSION_ERROR",
        r"(account|konto)\b.{0,30}blockiert|ungültige login|(bestätigungs|einladungs)link"
        r"|einladung\b.{0,20}(ungültig|abgelaufen)|(e-mail\S*|konto) ist (bisher "
        r"|noch )?nicht bestätigt|gäste (können|dürfen)|passwort oder e-mail|authentifikation"
        r"|benutzerkontos|token ist falsch|für die anmeldung nicht|einloggen|loggen sie"
        r"|noch nicht bestätigt|e-mail bestätigt wurde|(bestätig|verifizier)\w* (sie )?(deine"
        r"|ihre) e-mail|e-mail-adresse (bestätigen|verifizieren)|für gäste|berechtigung|(konto"
        r"|account|benutzer|adresse)\b.{0,25}(deaktiviert|gesperrt)|(login|anmelde?)-?(sitzung"
        r"|link|code)|mitglied dieser|(anmeldung|login)\b.{0,20}(erforderlich|fehlgeschlagen"
        r"|nicht möglich)|einverständnis|einwilligung|\bsession\b.{0,40}(nicht|abgelaufen|keine)"
        r"|keine session|(?<!eingegebene )token\b.{0,60}(ungültig|abgelaufen|korrekt|nicht)"
        r"|(bestätigungs|wiederherstellungs|anmelde)code|ungültige signatur|ungültiger nutzer"
        r"|anmeldeinformationen|(account|konto)\b.{0,12}abgelaufen|link zum zurücksetzen"
        r"|benutzername oder e-mail|zugriff (wurde )?verweigert",
    ),
    (
        "VALIDATION_ERROR",
        r"zu (hoch|niedrig) \(|regex|^fehlende|^keine liste|nicht innerhalb der"
        r"|^bitte wähle?n? sie eine?n? \w+\.?$|(darf|dürfen|kann|können) (nicht|kein\w*) (größer"
        r"|kleiner|negativ|höher|leer)|umgewandelt werden|(?<!menge )(muss|ist) (mindestens"
        r"|größer|erforderlich|zu groß)|^ungültige(?!.*(token|konto|schlüssel|passwort|signatur"
        r"|seite|hyperlink|csrf|suche|base64|kombination|coupon|ticket))|nicht stark genug"
        r"|datenleck|dateien überschreite|bytes überschritten|leeren? (kommentar|benutzername"
        r"|wert)|(?<!wert )beträgt? \d|nicht ausgefüllt|hat fehler|dürfen maximal"
        r"|\bsollte\b(?! dies)|\bfehlt\.?$(?<!dokuments fehlt\.)|kein\w* \S+( \S+)? (angegeben"
        r"|übertragen|ausgewählt|hochgeladen)|nicht (angegeben|ausgewählt|erwartet|komplex)"
        r"|^keine datei|inkorrekt|(datei|bild|zeichen|block|typ|format|passwort)\w*\b.{0,30}(ist"
        r"|sind|ist es) nicht (erlaubt|zugelassen)|darf nicht (verwendet werden|gleich|den)"
        r"|mehr als \d+ \w+ enthalten|(minimale|maximale) (länge|größe)|zu (ähnlich|üblich"
        r"|gering)|zustimmen|außerhalb|bitten? gebe(?!.*passwort ein)|ausgewählt werden, um"
        r"|(feld|formular)\w*\b.{0,30}nicht mehr als|fehlt eine",
    ),
    (
        "BUSINESS_ERROR",
        r"nur (ein|einmal)\b|limit an|zahlungsfehler|(ist|sind|wurden?|client"
        r"|system) deaktiviert|nicht genügend|(einziger?|letzter?) administrator|(noch"
        r"|derzeit) .{0,40}(zugewiesen|verwaltet|herausgegeben|ausgegeben|verknüpft)|selbst"
        r"|diese[nmr]? benutzer (sind|ist|verwaltet) noch|noch (herausgegeben|zugewiesen)"
        r"|zu niedrig|verwaltet noch|(lediglich|nur) (innerhalb|\d).{0,40}nach"
        r"|in verwendung und kann|mindestens einen (besitzer|administrator)|nur lesbar"
        r"|schreibgeschützt|andere administratoren|und kann nicht gelöscht|maximale anzahl an",
    ),
    (
        "RESOURCE_CONFLICT",
        r"integritätsfehler|eindeutige einschränkung|bereits (als|aus|akzeptiert|eingeladen"
        r"|gemeldet)|einzigartig sein",
    ),
    (
        "VALIDATION_ERROR",
        r"muss (abgelehnt|akzeptiert|ausgefüllt) werden|darf (maximal|höchstens|nur)|unzulässig"
        r"|nicht zulässig|nicht autorisierten wert|darf nicht (leer|null)|dürfen nicht (leer"
        r"|null)|datei(typ|format|endung).{0,20}nicht (erlaubt|zulässig|unterstützt)",
    ),
    (
        "BUSINESS_ERROR",
        r"(in|von) (diese[mr]|Ihre[mr]|unsere[mr]) (land|region|shop|geschäft)|nicht gesperrt"
        r"|kann erst|(gutschein|coupon|ticket|rabatt)\w*\b(?!.*(existiert"
        r"|hinzu)).{0,40}(eingelöst|benutzt|abgelaufen|genutzt|nicht aktiv)",
    ),
    (
        "RESOURCE_CONFLICT",
        r"(existier|gibt|besteh)\w*.{0,50}(bereits|schon)|(gibt|ist|wird|wurde|sind"
        r"|haben) (\w+ )?(bereits|schon).{0,70}(exist|vorhanden|vergeben|registriert|verknüpft"
        r"|hinzugefügt|angelegt|belegt|zugewiesen|verwend|benutzt|genutzt|aktive?\b|warteliste"
        r"|reserviert|bestätigt|angemeldet|eingetragen)|(bereits|schon) .{0,40}hinzugefügt"
        r"|(bereits|schon) (vergeben|vorhanden|registriert|belegt|verwendet|in verwendung"
        r"|existier|angemeldet|bestätigt)|eindeutig sein|(zwischenzeitlich"
        r"|inzwischen).{0,40}(geändert|bearbeitet|gebucht|anderen)|von (einem |einer )?anderen"
        r"|(seite|datensatz|objekt|dokument).{0,50}gesperrt|konflikt|bereits (aktualisiert"
        r"|geändert|einem anderen)",
    ),
    ("SERVICE_UNAVAILABLE", r"zugriff.{0,40}fehler aufgetreten"),
    (
        "PERMISSION_ERROR",
        r"passwort ist abgelaufen|zurücksetzen des passworts ist nicht|authentizität"
        r"|konto oder -|(oder|und|/) ?(das |ein |dein |ihr )?(passwort"
        r"|kennwort)\b.{0,25}(ungültig|falsch|stimm|inkorrekt)|schlüssel"
        r"|anmeldung.{0,10} (fehlgeschlagen|gescheitert)|konto bestätigen|berechtig|\brechte?\b"
        r"|zugriff|\bzugang\b|zugangsdaten|anmeldedaten|anmelden|\bmelden sie|angemeldet"
        r"|abgemeldet|einloggen|eingeloggt|verboten|CSRF|befugt|(?<!faktor-)authentifizier"
        r"|autorisier|(sitzung|session|token|anmeldung)\b.{0,25}(abgelaufen|verfallen)|(benutzer"
        r"|konto|account|zugang)\w*\b.{0,25}(inaktiv|gesperrt|deaktiviert|nicht aktiv"
        r"|nicht freigeschaltet|nicht bestätigt)|groß-/kleinschreibung|(benutzername|anmeldename"
        r"|nutzername|e-mail)\S*(\s?/| und| oder| und/oder).{0,20}(passwort|kennwort)|(konto"
        r"|e-mail-adresse).{0,25}(zuerst|zunächst) bestätig",
    ),
    (
        "DATA_NOT_FOUND",
        r"(nicht|kein\w*)\b.{0,70}(gefunden|finden)|existier\w*.{0,70}nicht\b|nicht existier"
        r"|kein\w* (treffer|ergebnis|daten|einträge)|nicht mehr vorhanden|(gesuchte|angeforderte"
        r"|gewünschte) (seite|datei).{0,40}nicht|unbekannte?r? (benutzer|nutzer|seite)"
        r"|ungültige[rs]? (seite|hyperlink|\w+-id)\b|keinem konto",
    ),
    (
        "SERVICE_UNAVAILABLE",
        r"zu viele\b.{0,50}(anfrag|versuch|aktion|zugriff)|gedrosselt|zeitüberschreitung"
        r"|zeitlimit|wartung|(intern|unerwartet|unbekannt)\w*.{0,12}fehler|serverfehler"
        r"|fehler (ist )?(aufgetreten|beim)|fehler aufgetreten|später (noch ?einmal|erneut"
        r"|wieder)|nicht erreichbar|verbindung|überlastet|fehler (ist )?aufgetreten"
        r"|server.{0,25}fehler|(nicht|konnte)\b.{0,50}verbinden|bitte warten|warten sie|gateway"
        r"|beschäftigt|vorübergehend|netzwerk|(dienst|server"
        r"|service)\b.{0,20}nicht (mehr )?verfügbar",
    ),
    (
        "BUSINESS_ERROR",
        r"lager|vorrätig|ausverkauft|vergriffen|warenk[oö]rb|gutschein|coupon|rabatt"
        r"|mindestbestell|höchst(menge|gewicht)|menge\b|nicht (mehr )?(verfügbar|erhältlich"
        r"|lieferbar|aktiv)|liefern nicht|lieferart|guthaben|zahlung|abgelehnt|storniert"
        r"|eingelöst|bezahlt|versandt|abgeschlossen|abgelaufen|(kann|können|kannst|darf"
        r"|dürfen)\b.{0,70}(nicht|kein\w*)\b.{0,60}(lösch|änder|bearbeit|stornier|erstell|erzeug"
        r"|kopier|deaktivier|abbrech|leer(en|t)|versen|tausch|liefer|entfern|kauf|verwende"
        r"|benutz|erwerb|schließ|geschlossen|hinzufüg|zurück|ausgeführt|umgewandelt)|\blöschen$"
        r"|geschützt|abonnement|nicht mehr als \d+|\d+ können|stück\b|(da"
        r"|weil) .{0,30}nicht leer|kombination|lieferart|nicht (erlaubt|gestattet|möglich)"
        r"|objekte aus der liste|stückzahl|mit bestellungen",
    ),
    (
        "PARAMETER_ERROR",
        r"(fehlerhafte|ungültige|falsche) (anfrage|suche|syntax)|parameter|kopfzeile|base64"
        r"|nicht unterstützt",
    ),
    (
        "VALIDATION_ERROR",
        r"bitte\b|ausfüllen|ausgefüllt|füllen?\b|pflichtfeld|erforderlich|zwingend|gültig\w*"
        r"|muss\b|müssen|darf (nicht|kein)|dürfen (nicht|kein)|negativ|hochgeladen|hochladen"
        r"|reserviert|mindestens|höchstens|stimm\w+ nicht|überein|identisch|falsch\w*|eingabe"
        r"|eingeben|eingegeben|format|muster|zeichen|wählen?\b|\bgib\b|klicke|verlängere|kürze"
        r"|verwende|zu (kurz|lang|klein|groß|schwach|einfach)|korrigier|benötigt"
        r"|kein\w* \S+ (aus)?gewählt|übermittelt|leer|akzeptiert|ist kein|sind kein"
        r"|nicht korrekt|größer|kleiner|gleich|gerade|vergangenheit|zukunft",
    ),
    ("SERVICE_UNAVAILABLE", r"konnten?\b.{0,70}\bnicht\b"),
    ("BUSINESS_ERROR", r"(kann|können)\b.{0,70}\bnicht\b"),
    ("RESOURCE_CONFLICT", r"doppelt|bereits|schon"),
    ("VALIDATION_ERROR", r"fehlt|nur \d+|nicht erlaubt"),
    ("SERVICE_UNAVAILABLE", r"fehlgeschlagen|gescheitert|schiefgelaufen|fehler (bei|während)"),
    ("BUSINESS_ERROR", r"deaktiviert|gesperrt"),
)
_FRENCH: tuple[tuple[FailureType, str], ...] = (
    # Messages worded in the same few ways everywhere come first.
    (
        "BUSINESS_ERROR",
        r"(atteint|dépassé) (sa|son|une de ses|la|le|votre) .{0,20}limites?|site externe",
    ),
    (
        "BUSINESS_ERROR",
        r"(code de réduction|bon|coupon)\b.{0,40}(déjà|actif)|utilisé ce (code|bon|coupon)",
    ),
    ("PARAMETER_ERROR", r"(requête|demande)\b.{0,60}syntaxe"),
    (
        "SERVICE_UNAVAILABLE",
        r"échec (lors d|du chargement|de l['’](enregistrement|envoi))|(eu"
        r"|est produite?) une erreur|n['’]a pas pu se \w+|se connecter au (référentiel|serveur)"
        r"|connecter via|en service|bientôt de retour|limitations? d(e|es) ressources"
        r"|téléversement (bloqué|a échoué)|téléversement de .{0,40}échou|(problème"
        r"|erreur) (inconnue |inattendue )?(est survenue?|a eu lieu|s['’]est produite?)"
        r"|eu un problème|problème système|erreur (inconnue|inattendue)|(impossible|échec) d(e|u"
        r"|es|['’])( la| l['’]| le)? ?(continuer|récupérer|envoyer|contacter|charger|traiter"
        r"|réinit|résoudre|connecter au)|n['’](a|ont|est) pas (été )?\S+,? (veuillez"
        r"|merci d[e'’]) ?(ré)?essayer|n['’](a|ont) pas (pu )?(être|été) (\w+[ée]e?s?"
        r"|mis[- ]à[- ]jour|détruit)[,.]? (veuillez|merci)|pas pu être (envoyé|enregistré|résolu"
        r"|ex[ée]cuté|traité|chargé)|(attendre|attendez|toutes les).{0,12} \d"
        r"|déconnexion a échou",
    ),
    (
        "DATA_NOT_FOUND",
        r"n['’]arrivons pas à trouver|n['’]avez pas encore de|ne peut (pas )?être trouvé"
        r"|pas de \w+ (ayant|correspond)|aucune? .{0,60}(n['’]existe|n['’]a pu être trouv)"
        r"|impossible de trouver|absent|(pas (pu )?être|n['’]a pas été) trouvée?s?"
        r"|n['’]existe(nt)? (pas|plus)(?! dans|.*permission)|(utilisateur|client"
        r"|page) (est )?inconnue?|^aucune? utilisateur|(fichier|document)\b.{0,20}manquant"
        r"|non enregistrée",
    ),
    (
        "RESOURCE_CONFLICT",
        r"existe déjà|erreur d['’]intégrité|contrainte d['’]unicité|a déjà été (validé|confirmé)"
        r"|déjà (été )?(ajout|suppr|restaur|invit|envoy|vot|signal|accept|dissoc|activ|mis|retir"
        r"|membre|lié)|champ a déjà",
    ),
    (
        "PERMISSION_ERROR",
        r"échec de (la )?connexion$|n['’]est pas (identifié|connecté)|lien (d['’]"
        r"|de cette )invitation|(adresse|e-mail)\b.{0,12}non (confirmé|vérifié)"
        r"|accès\b.{0,40}(refusé|abouti)|(n['’]avez|n['’]a) pas (l['’])?accès"
        r"|ne peut pas accéder|compte utilisateur a expiré|identifications"
        r"|mot de passe ou .{0,25}(incorrect|invalide)|ne correspondent à aucun compte"
        r"|autorisée? à s['’]inscrire|confirmation est invalide|(adresse|e-?mail|courriel"
        r"|compte)\b.{0,20}n['’](est|a) pas (encore )?(été )?(confirm|vérifi|validée?\b)|(compte"
        r"|utilisateur)\b.{0,25}(désactiv|verrouill|bloqu|suspend)|d['’]avoir un compte"
        r"|vous (identifier|ré-?authentifier)|\bbanni|privilège|invités\b"
        r"|connexion (est )?(requise|échou|refus)|droits?\b|permission|(lien|session|jeton|token"
        r"|page) de connexion|session\b.{0,30}(n['’]est (pas|plus)|ne soit plus|expir|active)"
        r"|membre de ce|token\b.{0,40}(valide|expir)|consentement|aucun accès|accès (refus"
        r"|interdit)|compte a expiré|action expirée|lien de (mise à jour|réinit)"
        r"|vérifier votre (adresse|e-?mail|courriel)|(utilisateur|usager|e-?mail"
        r"|courriel) ou (un |de |le )?(mot de passe|courriel|e-?mail)\b.{0,20}(incorrect"
        r"|invalide)|un \S+ et un mot de passe valides?",
    ),
    (
        "VALIDATION_ERROR",
        r"n['’]est pas une? \S+ autorisée?|est manquant|ne peut (pas )?contenir"
        r"|nom ne peut pas être utilisé|trop (basse|haute)|ne pas inclure|^saisir"
        r"|(lire et )?accepter|^(merci de|veuillez) (choisir|sélectionner|saisir"
        r"|entrer) (?!.*mot de passe)|ne (peut|doit) (pas )?être (supérieur|inférieur|négati"
        r"|égal)|est (obligatoire|requise?)|pas assez fort|octets|caractères (de l|invalides)"
        r"|taille de fichier|commentaire vide|restrictions supplémentaires|minimale? est"
        r"|la validation|aucune? \S+( \S+)? (n['’]a été |n['’]est )?(fourni|soumis|transf"
        r"|sélectionn|téléver|envoy)|^aucun fichier|(fichier|image|caractère|bloc|type|format"
        r"|extension|rapport)s?\b.{0,60}autorisée?s?|(max(imale?)?|min(imale?)?) autoris"
        r"|(longueur|largeur|taille) (min|max)imale|(devrait|devraient)\b|(type|format"
        r"|code) (d['’]\S+ )?(est )?invalide|seulement \d|code d['’]authentification|(trop"
        r"|très) (courant|similaire|proche)|entièrement numérique|un nom d['’]utilisateur et un"
        r"|comporter de doublon|respecter la|cochez|hors limites|manque un",
    ),
    (
        "BUSINESS_ERROR",
        r"qu['’]une( seule)? fois|un seul|ne peut rembourser|ne peuvent pas être combin"
        r"|un maximum de|limitations techniques|impossible de désactiver|livraison n['’]est pas"
        r"|(est|sont|système|client) (\w+ )?désactivée?s?|désactivée?\.?$|pas assez"
        r"|seul .{0,12}admin|lecture seule|(encore|toujours|présentement) .{0,30}(attribu|assign"
        r"|gère|retir|utilis|associ)|gère toujours|toujours dans|vous[- ]même|(que"
        r"|seulement) pendant|assez élevé|non permise?|au moins un (propri|admin)"
        r"|quantité maximale|ne pouvez pas (bannir|mettre|exclure)|n['’]est pas possible d"
        r"|(enregistrement|inscription|remise)\b.{0,20} pas autoris|votes? .{0,20}pas autoris"
        r"|utilisée? .{0,40}ne peut pas être supprim",
    ),
    ("PARAMETER_ERROR", r"il manque l['’](id|identifiant)|non supporté"),
    (
        "VALIDATION_ERROR",
        r"(type|format|extension) (de|du) (fichier|contenu)|aucune? .{0,40}sélectionn"
        r"|la taille d|extension|domaine|taille maximale|date future|ne (peut|doit|peuvent"
        r"|doivent) pas être (vide|nul|blanc|vierge|laiss)|^(ce|le) champ\b|doi(t"
        r"|vent) être (rempli|accept|vide)",
    ),
    (
        "BUSINESS_ERROR",
        r"(code promo|coupon|bon|billet|ticket|remise|carte cadeau|chèque)\b.{0,50}(utilisé"
        r"|expiré|valable|valide)|dans (ce|votre) pays|par (cette|notre) boutique"
        r"|par ce(tte)? (magasin|enseigne)|tant que|n['’](était|est) pas verrouill",
    ),
    (
        "RESOURCE_CONFLICT",
        r"déjà (été )?(utilisé|pris|exist|enregistr|associ|inscrit|attribu|ajout|présent|réserv"
        r"|confirm|connect)|existe(nt)? déjà|(modifiée?s?|mises? à jour) par|verrouillée? par"
        r"|conflit|entre-temps|doublon|en cours d['’](utilisation|édition|modification)"
        r"|doit être unique|déjà (mise?|été mise?) à jour",
    ),
    (
        "SERVICE_UNAVAILABLE",
        r"(se connecter|connexion) (à la|à l|au|aux) ?['’]?(serveur|service|méthode|passerelle"
        r"|base)",
    ),
    (
        "PERMISSION_ERROR",
        r"\bdroits?\b|mot de passe a expiré|lien de récupération|\bjeton|activé votre compte"
        r"|clé (d['’])?api|autoris|permission|accès (refus|interdit|non|limit)|interdit|connecté"
        r"|(vous|se|de) (re)?connecter|(re)?connectez|(session|jeton).{0,25}expir"
        r"|identifiants?\b|(nom d['’]utilisateur|e-?mail|courriel|login)\b.{0,25}mot de passe"
        r"|(compte|utilisateur)\b.{0,30}(désactivé|bloqué|verrouillé|suspendu|inactif"
        r"|n['’]est pas (encore )?activ|n['’]a pas été (activé|confirmé))|CSRF|authentifi"
        r"|confirmer votre (compte|adresse|e-?mail)",
    ),
    (
        "DATA_NOT_FOUND",
        r"introuvable|impossible de trouver|(n['’]avons|n['’]ai) (pas )?trouvé"
        r"|n['’]existe(nt)? (pas|plus)|aucune? (résultat|donnée|enregistrement|page)"
        r"|aucune?\b.{0,40}(trouv|ne correspond|disponible)|(pas|non) (été )?trouv"
        r"|pas (pu )?trouver|inexistante?",
    ),
    (
        "SERVICE_UNAVAILABLE",
        r"erreur (interne|inattendue|serveur|du serveur|réseau|technique)|erreur.{0,15}(survenue"
        r"|produite)|(plus tard|ultérieurement|dans (une|un|\d+|quelques) (seconde|minute|heure"
        r"|instant|moment)s?)|patient(er|ez)|avant de réessayer|erreur lors d|passerelle"
        r"|temporair|service.{0,25}indisponible|(délai|temps) (d['’]attente|de (réponse"
        r"|connexion))|trop de (tentatives|requêtes|demandes|connexions)|serveur|maintenance"
        r"|connexion|surcharg|réseau|injoignable",
    ),
    (
        "BUSINESS_ERROR",
        r"rupture|stock|épuisé|indisponible|(plus|pas) disponible|retourné|code promo|coupon"
        r"|panier|paiement|solde|refusée?|commande\b.{0,50}(annul|expédi|pay|minim|modifi|peut)"
        r"|(montant|minimum) (de commande|minimum)|insuffisant|ne (peu\w+|pouvez|pouvons) (pas"
        r"|plus)\b.{0,40}(annul|supprim|modifi|livr|ajout|retir|créé|créer|commander|payer"
        r"|désactiv)|expiré|livr|déjà (été )?(payé|expédi|annul|rembours|livr|clôtur|valid)"
        r"|protégé|abonnement|avec (des|les) commandes|inventaire|n['’]a pas pu"
        r"|ne peut (pas )?être (fermée?|ré-?ouverte?|archivée?|supprimée?|rattachée?|déplacée?"
        r"|modifiée?|annulée?)|impossible d(e |['’])(changer|saisir|enregistrer|détruire"
        r"|supprimer|modifier|annuler|ajouter|créer)|clos",
    ),
    (
        "PARAMETER_ERROR",
        r"paramètre|requête (invalide|incorrecte|mal)|mal formée?|argument|syntaxe|en-tête",
    ),
    (
        "VALIDATION_ERROR",
        r"veuillez|merci de|merci d['’]|saisi|obligatoire|requise?\b|doit\b|doivent|devez"
        r"|n['’]est pas|ne sont pas|non valide|invalide|incorrecte?|valide|correspond|antérieur"
        r"|trop (simple|court|long|petit|grand|volumineux|lourd|élevé|faible|de|gros)"
        r"|caractères?|format|sélectionn|renseign|au (moins|plus)|rempli|vide|accept|chiffre"
        r"|supérieur|inférieur|égale?|erroné|choisi|concorde|télévers|réservé|fuite|impaire?"
        r"|fournir|cocher|manquant|correct|champ",
    ),
    ("SERVICE_UNAVAILABLE", r"échec|échou|réessayer"),
    ("BUSINESS_ERROR", r"désactivé|ne pouvez"),
    ("RESOURCE_CONFLICT", r"déjà"),
)
_SPANISH: tuple[tuple[FailureType, str], ...] = (
    # Messages worded in the same few ways everywhere come first.
    (
        "BUSINESS_ERROR",
        r"(alcanzado|excedido|superado) (su|uno de sus|el|tu) .{0,20}límites?"
        r"|solo puede \w+ a un|desbloqueado antes|sitio externo",
    ),
    ("BUSINESS_ERROR", r"(cupón|vale|código de descuento)\b.{0,30}\bya (?!está disponible)"),
    ("PARAMETER_ERROR", r"(solicitud|petición)\b.{0,60}sintaxis"),
    (
        "SERVICE_UNAVAILABLE",
        r"(no (podemos|fue posible|se puede) (conect|actualizar el índice)"
        r"|no se han podido guardar)\w*|fallid[ao]\b(?!s)|(?<!csrf )ha fallado|(no se pudo"
        r"|no se pudieron|error al|error en la) (subi|agreg|cre|gestion|carg)\w*.{0,60}(error"
        r"|recursos|nuevamente|nuevo)|no ha realizado ningún progreso|caída|máximo de intentos"
        r"|demasiados intentos|error en la subida|(hubo|ocurrió|ha habido|ha ocurrido"
        r"|tuvimos) un (problema|error)|problema del sistema|error (desconocido|no esperado"
        r"|inesperado)|(no )?(fue|fueron|ha sido) \w+[ao]s?,? por favor,? (vuelva|int[ée]nte)"
        r"|no \w+(\(s\))?[.,] por favor,? int[ée]nte|(fallo|falló) al? ?\w*|no se (ha )?(pudo"
        r"|podido|puede) (continuar|obtener|enviar|procesar|contactar|escribir|cargar|resolver"
        r"|guardar|confirmar)|(?<!pago )no pudo ser (enviad|procesad)|no se pudo procesar"
        r"|(espera|espere) (un|\d|a que)|demasiados mensajes|cierre de sesión falló",
    ),
    (
        "DATA_NOT_FOUND",
        r"no hay \w+ (con|correspond)|(no hay|ningún|ninguna) .{1,30}coincid"
        r"|no se han? encontrado (ninguna cuenta|métodos)|no se pudo encontrar"
        r"|no (existe\b(?!.*permis)|fue encontrad|se encontró)|usuario desconocido|sin usuario"
        r"|falta el archivo|no registrad[ao]",
    ),
    (
        "RESOURCE_CONFLICT",
        r"ya est[aá] siendo|error de integridad|restricción de valor único|\bya (marc|desmarc"
        r"|report|eres|está inscrit|(has|ha sido|fue|se ha|han sido) (invit|envi|borr|restaur"
        r"|vot|activ|recib|acept|inscrit|elimin|utiliz|registr|marc|report))(?!.* no se pued)"
        r"|ocupad[ao]$|ya (registrad|existe)",
    ),
    (
        "PERMISSION_ERROR",
        r"acceso fallido|permite el acceso|acceso\b.{0,30}(denegado|fallado)|(enlace de "
        r"|la )?invitación\b.{0,20}(inválid|expirad)|correo electrónico no confirmad"
        r"|no tienes? acceso|cuenta del usuario ha|invitados no pueden|token de autorización"
        r"|token api|iniciaron sesión|contraseña o .{0,40}incorrect|autentíca\w*"
        r"|permitido para registrarse|enlace para reiniciar|correo electrónico no tiene acceso"
        r"|(cuenta|correo|e-?mail)\b.{0,30}(no ha sido|sin) confirm|confirm[ae] (tu|su) (correo"
        r"|e-?mail)|clave (de )?api|permisos?\b|(cuenta|usuario)\b.{0,25}(deshabilit|desactiv"
        r"|bloque)|privilegio|para los invitados|miembro de este|inicio de sesión"
        r"|error al iniciar sesión|sesión\b.{0,30}(no está|no es|ya no|inválid|caducad)"
        r"|token\b(?! introducido).{0,40}(inválid|expir|válido|proporcion)|identif[ií]ca(te|rte"
        r"|rse|do)\b|consentimiento|sin acceso|firma no válida|enlace de restablec"
        r"|cuenta ha (expirado|caducado)|acción caducada|para acceder|verificar (tu"
        r"|su) (dirección|correo)|código de (confirmación|restablecimiento de contraseña|inicio)"
        r"|usuario o (correo|contraseña)",
    ),
    (
        "VALIDATION_ERROR",
        r"(debe|deben) estar en|demasiado (alto|bajo)|no incluyas|no hay \w+ seleccionad"
        r"|nombre no se puede usar|(acepta|acepte) |no se ha especificado|en mayúsculas"
        r"|^(por favor,? )?(elija|introduzca|seleccione|elige) (?!.*clave correct)"
        r"|no puede ser (mayor|menor|negativ|un valor)|es (obligatori|requerid|necesari)"
        r"|número de .{1,40}no válido|fuera de límites|convertir a|valor (mínimo|máximo) es"
        r"|mínima es|bytes|restricciones adicionales|solo deben? contener|(debería\w*|asegúrese"
        r"|especifi(ca|que)|indica)\b(?!.{0,12}direcc)|longitud (mín|máx)ima|(no (se ha "
        r"|ha )?)(proporcionad|indicad|enviad)|no \w+ ningún (fichero|archivo)|solo (puede"
        r"|se pueden)\b.{0,20}(contener|agregar)|(bloque|imágenes|archivo|caracteres|tipo"
        r"|formato)\b.{0,20}no está\w* permitid|código de (autenticación"
        r"|restablecimiento incorrecto)|(número|url|correo|valor) invalid|más (de \d+ dígitos"
        r"|larg)|demasiadas etiquetas|fuera de rango|contraseña (incorrecta:|no (es|puede))"
        r"|opción válida|seleccionar elementos para|tamaño de (fichero|archivo)",
    ),
    (
        "BUSINESS_ERROR",
        r"s[oó]lo .{0,20}una vez|solo una? artículo|un[ao] sol[ao]? vez|límite de miembros"
        r"|limitaciones técnicas|no se puede (deshabilitar|establecer)|(está|están|cliente"
        r"|sistema) (des|in)habilitad|deshabilitad\w\.?$|solo lectura|suficiente|(todavía"
        r"|actualmente|aún) (tiene|supervisa|est)|únic?o administrador|(ti|sí|usted) mism[ao]"
        r"|s[oó]lo puedes \w+ .{0,20}durante|al menos un (propietario|administrador)"
        r"|número máximo de|otros administradores|tiene \w+ asignad|no se puede volver"
        r"|no puedes (purgar|expulsar)|en uso y no pued",
    ),
    ("PARAMETER_ERROR", r"falta el id"),
    (
        "VALIDATION_ERROR",
        r"(tipo|formato|extensión) (de|del) archivo|^extensión|fecha futura|tamaño máximo|corrij"
        r"|corrig|no está incluid|no se ha seleccionado|^el campo\b(?!.{0,60}(protegid|ya "
        r"|únic))|tarjeta de crédito inválida|número de tarjeta",
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
        r"|ya está asignad|campo .{0,40}ya ha sido|ya (añad|agreg)|ya ha iniciado",
    ),
    (
        "PERMISSION_ERROR",
        r"permisos?\b|prohibid|acceso (denegad|restring|no)|contraseña ha (expirado|caducado)"
        r"|enlace de recuperación|activado su cuenta|clave (de )?api|autorizad|autorización"
        r"|inici(e|ar|a|es|ado) (la )?sesión|sesión.{0,25}(caduc|expir|finaliz)"
        r"|finalizado su sesión|credencial|CSRF|autentic\w+\b(?! de dos)|mayúsculas"
        r"|identificarse|derechos|(usuario|correo\w*|cuenta|e-?mail)\b.{0,30}(contraseña|clave)"
        r"|(cuenta|usuario)\b.{0,30}(inactiv|bloquead|desactivad|suspendid|deshabilitad|activad)"
        r"|registrado!|usuarios registrados|token\b.{0,15}(expir|caduc)|confirmar (su"
        r"|tu) (cuenta|correo|e-?mail)",
    ),
    (
        "DATA_NOT_FOUND",
        r"no (pudimos|pudo|podemos|logramos) encontrar|no encontramos"
        r"|no se encuentra (?!disponible|actual)|no (existen?|encontrad\w+"
        r"|ha sido encontrad\w+)\b|no (se )?(ha |han |hemos |pudo )?(podido )?(ser )?encontr(ado"
        r"|ada|ó|aron|ar)\b|inexistente|(sin|ningún|no (hay|contiene)) (resultados?|datos"
        r"|registros|coincidencias)|(página|hiperenlace|ID de \w+)\b.{0,40}inválid"
        r"|no está asignad|desconocid",
    ),
    (
        "SERVICE_UNAVAILABLE",
        r"error (interno|inesperado|del servidor|en el servidor|de (red|conexión))|(producido"
        r"|ocurrido|ocurrió|sucedido|produjo) (un )?error|demasiad\w+ (intentos|peticiones"
        r"|solicitudes|consultas|operaciones)|más tarde|tiempo de espera|temporalmente|servidor"
        r"|conexión|mantenimiento|throttled|sobrecargad|servicio\b.{0,20}no (está )?disponible"
        r"|(en|dentro de) \d+ (segundos|minutos)|error interno|imposible conectar|no responde"
        r"|espere|antes de (intentar|volver)|puerta de enlace|pasarela",
    ),
    (
        "BUSINESS_ERROR",
        r"stock|suficiente|fue imposible|no ha podido ser|reembolsad|destru[ií]|agotad"
        r"|existencias|cupón|descuento|carr(ito|o)s?\b|vale de|tarjeta (de )?regalo"
        r"|tarjeta.{0,40}(rechaz|caduc|expir)|envío|envíos|pedido\b.{0,50}(pag|cancel|enviad"
        r"|mínim|no (se )?pued|complet)|\bpago\b|saldo|protegid|(no\b.{0,30}|unidades "
        r"|quedan .{0,20})disponibles?|ya no est|no (se )?(pued|es posible)\w*\b.{0,40}(abrir"
        r"|archiv|registr|mov|cancel|elimin|borr|edit|modific|cre(ar|ad)|pag|gener|cambi|añad"
        r"|desactiv|copi|subst|complet|guardar|realizar|devol|reembols|vaci|envi|entreg)"
        r"|pueden crearse|suscripción|peso máximo|cantidad de compra|un máximo|canjead"
        r"|completado|caducad|expirad|combinación|rechazad|deben seleccionar elementos"
        r"|insuficiente|restablecimiento|no realizamos|no está permitido|puede crearse",
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
        r"|incluy|antes|después|posterior|contraseña|ajústese|aumenta|marque|marca|errores|acept"
        r"|solo uno|igual|reservad|subir|subid|cargar|impar|es un número|no es una?\b",
    ),
    ("PARAMETER_ERROR", r"no soportado"),
    ("SERVICE_UNAVAILABLE", r"problema|error al|fall[oó]|salió mal|inténtelo"),
    ("VALIDATION_ERROR", r"falta|insuficient"),
    ("SERVICE_UNAVAILABLE", r"no se (pudo|pudieron|(ha|han) podido)"),
    ("BUSINESS_ERROR", r"deshabilitad|no (se )?pued|bloquead"),
    ("RESOURCE_CONFLICT", r"\bya\b"),
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
"""Short words and letters that distinguish a language from the others."""
_READ = 2_000
"""Maximum number of characters of a message used to detect its language."""

# German forms compounds, so the decisive part may be in the middle of a word.
TABLES = {
    language: [(name, rf"{border}(?:{words})") for name, words in table]
    for language, border, table in (
        ("german", "", _GERMAN),
        ("french", r"\b", _FRENCH),
        ("spanish", r"(?<!\w)", _SPANISH),
    )
}
"""For each language, the types with their words, in order of precedence."""


def language_of(message: str) -> str:
    """Return `german`, `french` or `spanish`, or empty for English and all other languages."""
    read = message[:_READ]
    found = {name: len(re.findall(signs, read, re.IGNORECASE)) for name, signs in _SIGNS.items()}
    best = max(found, key=lambda name: found[name])
    return best if best in TABLES and found[best] > found["english"] else ""
