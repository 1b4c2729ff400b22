"""The classifier on messages that were really said (`benchmarks/messages`)."""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from pytest_autoweb.correct.failure_types import cause_of, classify, classify_failure
from pytest_autoweb.language import NEVER_TOUCHED, NO_CODE_FOR_STEP, NO_CODE_IN_REPLY
from pytest_autoweb.results import Failure, FailureKind, Finding

ROOT = Path(__file__).parents[3]
DOCS = (ROOT / "docs/calibration.md").read_text(encoding="utf-8")
PARTS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")
LANGUAGES = ("en", "zh", "de", "fr", "es")
SIX = ("playwright", "chromium", "http", "form", "provider", "python")


def rows_of(corpus: str, part: str) -> list[dict[str, Any]]:
    file = ROOT / f"benchmarks/messages/{corpus}.jsonl"
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return [row for row in rows if row["part"] == part]


def right_of(rows: list[dict[str, Any]]) -> int:
    found = (
        classify(row["message"], error_type=row["error_type"], status=row["status"]).type
        for row in rows
    )
    return sum(one == row["label"] for one, row in zip(found, rows, strict=True))


def test_the_published_accuracy_is_that_of_the_rules_on_unseen_messages() -> None:
    unseen = rows_of("six_sources", "again")
    right = right_of(unseen)
    told = r"^\| [^|]+ \| (\d+ of \d+) \| \d+ of \d+ \| \d+ of \d+ \|$"
    sources = [[row for row in unseen if row["of"] == name] for name in SIX]

    assert right / len(unseen) >= 0.95
    assert f"{right / len(unseen):.1%}".replace("%", " %") + f" ({right} of {len(unseen)};" in DOCS
    assert re.findall(told, DOCS, re.MULTILINE) == [
        f"{right_of(rows)} of {len(rows)}" for rows in (*sources, unseen)
    ]


def test_a_hash_draws_the_first_held_out_third_and_no_message_is_in_two_parts() -> None:
    parts = {part: rows_of("six_sources", part) for part in ("tune", "held_out", "again")}
    texts = [row["message"] for rows in parts.values() for row in rows]

    assert len(texts) == len(set(texts)) >= 800
    for part in ("tune", "held_out"):
        for row in parts[part]:
            steady = re.sub(r"\d+", "0", row["message"]).encode()
            assert (int(hashlib.sha256(steady).hexdigest(), 16) % 3 == 0) == (part == "held_out")


@pytest.mark.parametrize(
    ("corpus", "part"),
    [("corpus", "seen"), ("corpus", "held_out"), ("six_sources", "tune"),
     ("six_sources", "held_out")],
)  # fmt: skip
def test_what_the_rules_have_learnt_they_keep(corpus: str, part: str) -> None:
    rows = rows_of(corpus, part)
    assert right_of(rows) / len(rows) >= 0.97


SEED = {
    "PARAMETER_ERROR": "参数错误 参数格式 invalid_parameter parameter missing_required 缺少必填 "
    "类型不匹配",
    "PERMISSION_ERROR": "权限不足 无权 forbidden unauthorized access_denied 禁止访问 Token过期",
    "SERVICE_UNAVAILABLE": "服务不可用 超时 timeout service_unavailable connection_refused "
    "连接失败",
    "DATA_NOT_FOUND": "未找到 不存在 not_found no_data empty_result 查无此 批次不存在 "
    "记录为空 条件过严",
    "VALIDATION_ERROR": "验证失败 校验 validation_failed invalid 格式错误 不合法 "
    "业务规则违反 数据不合法",
    "BUSINESS_ERROR": "业务异常 操作不允许 business_error 状态不允许 流程错误 库存不足 流程约束",
    "RESOURCE_CONFLICT": "冲突 已存在 conflict duplicate 重复 并发修改 锁定资源",
    "UNKNOWN": "未分类错误 系统异常",
}
"""The keywords of the seed's table, and the examples of its diagram of types."""


@pytest.mark.parametrize(
    ("word", "kind"),
    [(word.replace("_", " "), kind) for kind, words in SEED.items() for word in words.split()],
)
def test_the_seeds_own_words_have_the_types_of_its_table(word: str, kind: str) -> None:
    assert classify(word).type == kind


SAID = {
    "VALIDATION_ERROR": (
        "Please choose a delivery day|请选择送货日期|請選擇送貨日期"
        "|Bitte wählen Sie einen Liefertag|Veuillez choisir un jour|Elija un día",
        "The discount cannot be negative|折扣不能为负数|折扣不能為負數"
        "|Der Rabatt darf nicht negativ sein|La remise ne peut pas être négative"
        "|El descuento no puede ser negativo",
        "No file was selected|没有选择文件|沒有選擇檔案|Keine Datei ausgewählt"
        "|Aucun fichier n'a été sélectionné|No se ha seleccionado ningún archivo",
        "The nickname is too long|昵称太长|暱稱太長|Der Spitzname ist zu lang"
        "|Le surnom est trop long|El apodo es demasiado largo",
    ),
    "PERMISSION_ERROR": (
        "Your invitation link has expired|您的邀请链接已过期|您的邀請連結已過期"
        "|Ihr Einladungslink ist abgelaufen|Votre lien d'invitation a expiré"
        "|Su enlace de invitación ha expirado",
        "Your e-mail has not been confirmed yet|您的邮箱尚未确认|您的信箱尚未確認"
        "|Ihre E-Mail-Adresse ist noch nicht bestätigt"
        "|Votre adresse n'a pas encore été confirmée|Su correo no ha sido confirmado",
        "You must be logged in to vote|必须登录后才能投票|必須登入後才能投票"
        "|Sie müssen angemeldet sein|Vous devez vous connecter|Debe iniciar sesión",
    ),
    "SERVICE_UNAVAILABLE": (
        "There was a problem saving the draft|保存草稿时出现了问题|儲存草稿時出現了問題"
        "|Beim Speichern des Entwurfs ist ein Problem aufgetreten"
        "|Un problème est survenu lors de l'enregistrement du brouillon"
        "|Hubo un problema al guardar el borrador",
        "Too many attempts, please wait a minute|尝试次数过多，请稍候|嘗試次數過多，請稍候"
        "|Zu viele Versuche, bitte warten Sie eine Minute"
        "|Trop de tentatives, patientez une minute|Demasiados intentos, espere un minuto",
    ),
    "RESOURCE_CONFLICT": (
        "You are already a member|您已经是会员成员|您已經是會員成員|Sie sind bereits angemeldet"
        "|Vous êtes déjà membre|Ya eres miembro",
        "A list with this name already exists|同名列表已存在|同名列表已存在"
        "|Eine Liste mit diesem Namen existiert bereits"
        "|Une liste portant ce nom existe déjà|Ya existe una lista con este nombre",
    ),
    "DATA_NOT_FOUND": (
        "No invoice found|未找到发票|未找到發票|Keine Rechnung gefunden"
        "|Aucune facture trouvée|No se encontró ninguna factura",
        "There are no members with this name|没有符合的会员|沒有符合的會員"
        "|Es gibt keine Mitglieder mit diesem Namen|Aucun membre ne correspond"
        "|No hay miembros con este nombre",
    ),
    "BUSINESS_ERROR": (
        "Comments are disabled|评论功能已禁用|評論功能已停用|Kommentare sind deaktiviert"
        "|Les commentaires sont désactivés|Los comentarios están deshabilitados",
        "You can only vote once|您只能投票一次|您只能投票一次|Sie können nur einmal abstimmen"
        "|Vous ne pouvez voter qu'une fois|Solo puede votar una vez",
    ),
}
"""The same in English, Simplified and Traditional Chinese, German, French and Spanish, as browsers,
frameworks and applications word it."""


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        (message, kind)
        for kind, rows in SAID.items()
        for row in rows
        for message in dict.fromkeys(row.split("|"))
    ],
)
def test_the_same_message_has_the_same_type_in_each_language(message: str, kind: str) -> None:
    assert classify(message).type == kind


def test_a_message_without_any_known_word_has_no_type() -> None:
    for message in ("Hmm", "xyzzy 17", "嗯", "Tja", "blub " * 1_000 + "not found"):
        assert classify(message).type == "UNKNOWN"


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("参数错误：page 应为整数", "PARAMETER_ERROR"),
        ("缺少必填参数：id", "PARAMETER_ERROR"),
        ("the row was not drawn: KeyError: 'total'", "PARAMETER_ERROR"),
        ("RecursionError: maximum recursion depth exceeded", "PARAMETER_ERROR"),
        ("Veuillez renseigner ce champ.", "VALIDATION_ERROR"),
        ("Fülle dieses Feld aus.", "VALIDATION_ERROR"),
        ("Completa este campo", "VALIDATION_ERROR"),
        ("Provider returned error (after 3 tries)", "UNKNOWN"),
    ],
)
def test_words_are_read_in_the_language_of_the_message(message: str, kind: str) -> None:
    assert classify(message).type == kind


@pytest.mark.parametrize(
    ("kind", "message", "expected"),
    [
        ("limit", "the model goes in circles: [5] was clicked 3 times", "PARAMETER_ERROR"),
        ("limit", "4 decisions in a row came to nothing: not found", "PARAMETER_ERROR"),
        ("limit", "30 decisions were not enough", "PARAMETER_ERROR"),
        ("timeout", "the attempt's 60 s are over", "SERVICE_UNAVAILABLE"),
    ],
)
def test_the_ways_in_which_act_itself_ends_have_a_type_unless_evidence_says_more(
    kind: FailureKind, message: str, expected: str
) -> None:
    failure = Failure(kind=kind, message=message)
    alone = cause_of(failure, ())
    ill = cause_of(failure, [Finding(code="server_status", fact="GET /", status=500)])

    assert alone is not None
    assert ill is not None
    assert (alone.type, alone.web_kind) == (expected, "limit")
    assert ill.type == "SERVICE_UNAVAILABLE"


@pytest.mark.parametrize(
    ("kind", "message", "rule", "expected"),
    [
        ("step", NO_CODE_FOR_STEP, None, ("PARAMETER_ERROR", "script_error")),
        ("step", NEVER_TOUCHED, None, ("PARAMETER_ERROR", "script_error")),
        ("step", "the continued step took another path: Not found", None,
         ("SERVICE_UNAVAILABLE", "limit")),
        ("lint", NO_CODE_IN_REPLY, None, ("PARAMETER_ERROR", "script_error")),
        ("plan", "line 1: e9 is not on the page; which task?", None,
         ("PARAMETER_ERROR", "plan_empty")),
        ("plan", "the plan needs input: which one", None, ("PARAMETER_ERROR", "question")),
        ("sandbox", "the case lists no file 'x' (files: none)", "AW502",
         ("PARAMETER_ERROR", "refused")),
        ("sandbox", "expect(Page).foo is not available", "AW504", ("PARAMETER_ERROR", "refused")),
        ("sandbox", "blocked: http://other", "AW501", ("PERMISSION_ERROR", "refused")),
        ("sandbox", "the code used more than 512 MB of memory", "AW506",
         ("PARAMETER_ERROR", "limit")),
        ("sandbox", "the agent closed its browser", None, ("PERMISSION_ERROR", "refused")),
        ("limit", "20 calls of the model were not enough", None, ("PARAMETER_ERROR", "limit")),
        ("timeout", "the agent's 60 s are over", None, ("SERVICE_UNAVAILABLE", "limit")),
        ("killed", "the test process died while it ran the cell", None,
         ("SERVICE_UNAVAILABLE", "page_lost")),
        ("agent", "the program ended: not found", None, ("SERVICE_UNAVAILABLE", "")),
        ("internal", "judge: ValueError: not found", None, ("UNKNOWN", "")),
        ("fixture", "setup failed: permission denied", None, ("UNKNOWN", "")),
        ("navigation", "http://x/ could not be opened: no connection", None,
         ("SERVICE_UNAVAILABLE", "navigation")),
    ],
)  # fmt: skip
def test_the_pipelines_own_name_decides_and_not_a_word_of_its_sentence(
    kind: FailureKind, message: str, rule: str | None, expected: tuple[str, str]
) -> None:
    found = classify_failure(Failure(kind=kind, message=message, rule=rule))

    assert (found.type, found.web_kind) == expected
    assert found.by == "kind"


@pytest.mark.parametrize("written", [NO_CODE_FOR_STEP, f"Step 2: {NO_CODE_FOR_STEP}"])
def test_the_pipelines_own_sentence_is_known_where_a_report_or_a_person_quotes_it(
    written: str,
) -> None:
    for message in (written, written.replace("no code", "No code")):
        assert classify(message).type == "PARAMETER_ERROR"


def test_a_choice_is_typed_by_what_became_of_it_and_not_by_the_page_that_it_quotes() -> None:
    said = "Error: [8] does not match: expected 'Next', but it reads 'Permission denied'"
    for evidence, expected in (
        ({"verdict": "mismatch"}, "PARAMETER_ERROR"),
        ({"location": "not_found"}, "DATA_NOT_FOUND"),
    ):
        failure = Failure(kind="step", message=said, evidence={"detail": said, **evidence})
        assert classify_failure(failure).type == expected


@pytest.mark.parametrize(
    ("said", "expected"),
    [("Red is out of stock", "BUSINESS_ERROR"), ("Someone else saved", "RESOURCE_CONFLICT")],
)
def test_a_409_with_a_rule_of_the_shop_on_the_page_is_no_conflict(said: str, expected: str) -> None:
    failure = Failure(kind="check", message="check 0 (text) does not hold")
    found = cause_of(
        failure,
        [
            Finding(code="server_status", fact="POST /cart: 409", status=409),
            Finding(code="page_says", fact=f'the page says "{said}"'),
        ],
    )

    assert found is not None
    assert found.type == expected


def by_language(part: str) -> list[list[dict[str, Any]]]:
    rows = rows_of("languages", part)
    return [[row for row in rows if row["of"] == language] for language in LANGUAGES]


@pytest.mark.parametrize("part", [*PARTS[:4], *PARTS[5:8]])
def test_messages_in_five_languages_that_the_rules_learnt_from_they_keep(part: str) -> None:
    for rows in by_language(part):
        assert len(rows) >= 25
        assert right_of(rows) / len(rows) >= 0.9


def test_the_published_figures_for_five_languages_are_those_of_the_rules() -> None:
    lines = re.findall(r"^\| \**(\w+)\** \| (.*) \|$", DOCS, re.MULTILINE)
    told = {
        part: rest.split(" | ")[1:]
        for part, rest in lines
        if part == "fifth" or rest.startswith("after learning")
    }
    last = rows_of("languages", "fifth")

    assert list(told) == ["fifth", "first", "second", "third", "fourth"]
    for part, cells in told.items():
        counted = [f"{right_of(rows)} of {len(rows)}" for rows in by_language(part)]
        assert cells == counted
    assert f"({right_of(last)} of {len(last)}; 95 % interval" in DOCS
    rare = [f"{right_of(rows)} of {len(rows)}" for rows in by_language("ninth")]
    assert " | ".join(("again**", *rare)) + " |" in DOCS


@pytest.mark.parametrize(
    ("part", "told"),
    [
        ("ninth", "clearly of {0} of {1}, and are right in {2};"),
        ("fifth", "of {0} of {1}, and right in {2};"),
    ],
)
def test_what_the_rules_call_clear_is_right_more_often(part: str, told: str) -> None:
    rows = rows_of("languages", part)
    found = [(row, classify(row["message"], status=row["status"])) for row in rows]
    clear = [row["label"] == one.type for row, one in found if one.clear and one.by != "none"]

    assert sum(clear) / len(clear) > max(0.87, right_of(rows) / len(rows))
    assert told.format(len(clear), len(rows), sum(clear)) in DOCS


def test_what_was_measured_unseen_is_in_no_other_part_and_no_other_corpus() -> None:
    texts = [row["message"] for part in PARTS for row in rows_of("languages", part)]
    unseen = {row["message"] for part in PARTS[1:] for row in rows_of("languages", part)}
    older = {
        row["message"]
        for corpus, parts in (
            ("six_sources", ("tune", "held_out", "again")),
            ("corpus", ("seen", "held_out", "other_language")),
        )
        for part in parts
        for row in rows_of(corpus, part)
    }

    assert len(texts) == len(set(texts)) >= 1_600
    assert not older & unseen


def test_a_timeout_for_an_element_is_no_service_that_is_down() -> None:
    said = (
        'Locator.click: Timeout 5000ms exceeded.\nCall log:\n  - waiting for get_by_role("button")'
    )
    assert classify(said, error_type="TimeoutError").type == "DATA_NOT_FOUND"


@pytest.mark.parametrize(
    ("message", "label"),
    [
        ("The upload quota service had trouble writing its ledger", "SERVICE_UNAVAILABLE"),
        ("Wiedergabe ist leider gescheitert", "SERVICE_UNAVAILABLE"),
        ("Welcome back", "UNKNOWN"),
        ("Your order is on its way", "UNKNOWN"),
    ],
)
def test_words_are_weighed_where_no_list_has_the_phrase(message: str, label: str) -> None:
    assert classify(message).type == label


@pytest.mark.parametrize(
    ("message", "label"),
    [
        ("Ticket is already closed", "BUSINESS_ERROR"),
        ("Only available on enterprise plans", "BUSINESS_ERROR"),
        ("You are the last administrator.", "BUSINESS_ERROR"),
        ("Invalid cursor parameter.", "PARAMETER_ERROR"),
        ("Invalid email parameters", "VALIDATION_ERROR"),
        ("The upstream response is invalid", "SERVICE_UNAVAILABLE"),
        ("New password is the same as the old one", "VALIDATION_ERROR"),
        ("We are unable to locate that parcel", "DATA_NOT_FOUND"),
        ("请先选择部门再保存", "BUSINESS_ERROR"),
        ("请先登录后再操作", "PERMISSION_ERROR"),
        ("账号因多次输错密码而被锁定", "PERMISSION_ERROR"),
        ("无效的重置链接", "PERMISSION_ERROR"),
        ("当前服务器不支持视频通话", "BUSINESS_ERROR"),
        ("已达到每个项目的最大成员数量", "BUSINESS_ERROR"),
        ("未知的命令", "PARAMETER_ERROR"),
        ("附件大小超出限制", "VALIDATION_ERROR"),
    ],
)
def test_families_of_phrases_are_known_in_any_application(message: str, label: str) -> None:
    assert classify(message).type == label


def test_weights_overrule_a_list_only_where_its_phrase_is_a_small_part_of_the_message() -> None:
    assert classify("Anmeldung erforderlich").type == "PERMISSION_ERROR"
    assert classify("验证失败").type == "VALIDATION_ERROR"
    assert classify("启用两步验证失败,系统出现未知错误,请稍后再试").type == "SERVICE_UNAVAILABLE"


def test_a_long_log_is_left_to_the_lists() -> None:
    log = "coffee " * 100

    assert classify(log).type == "UNKNOWN"
    assert classify(log + "record not found").type == "DATA_NOT_FOUND"
