"""Settings that set several others, and the names of earlier versions."""

import os

import pytest

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.base.values.flag_texts import Until, until
from pytest_autoweb.settings.options import named_folder
from pytest_autoweb.settings.run_settings import Settings, old_names, read_settings


def read(pytester: pytest.Pytester, *flags: str, **environ: str) -> Settings:
    return read_settings(pytester.parseconfig(*flags), environ)


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("agent=act", "strategy=act"),
        ("agent=codegen:once", "codegen=once"),
        ("agent=act,codegen", "agents=act,codegen"),
        ("max-steps=7", "max-turns=7 max-decisions=7"),
        ("save", "autosave"),
        ("save=main", "save=main"),
        ("database", "store"),
        ("database=sqlite:///x.db", "store=sqlite:///x.db"),
        (
            "dir=kept",
            "storage=kept cassettes=kept/cassettes traffic-files=kept/traffic blobs=kept/shards",
        ),
        ("record-mode=record", "record-mode=all"),
        ("record-mode=replay", "record-mode=none"),
        ("record-mode=extend", "record-mode=new_episodes"),
    ],
)
def test_a_run_with_the_new_name_has_the_settings_of_one_with_the_old(
    pytester: pytest.Pytester, new: str, old: str
) -> None:
    models = "--autoweb-models=a"
    after = read(pytester, models, *(f"--autoweb-{word}" for word in new.split()))
    before = read(pytester, models, *(f"--autoweb-{word}" for word in old.split()))

    recorded = before.describe()
    told = {name: said for name, said in after.describe().items() if name in recorded}
    assert {k: v["value"] for k, v in told.items()} == {k: v["value"] for k, v in recorded.items()}
    assert after.models == before.models


def test_variants_of_one_agent_are_compared_like_agents(pytester: pytest.Pytester) -> None:
    flags = ("--autoweb-models=a,builtin/noop", "--autoweb-agent=codegen:once,codegen:refs,act")

    assert read(pytester, *flags).models == (
        *("a@codegen:once", "a@codegen:refs", "a@act"),
        "builtin/noop",
    )


def test_an_agent_without_a_variant_leaves_the_way_of_writing_as_it_is_set(
    pytester: pytest.Pytester,
) -> None:
    pytester.makeini("[pytest]\nautoweb_codegen = once\n")

    both = read(pytester, "--autoweb-models=a", "--autoweb-agent=codegen,act")
    assert (both.models, both.codegen) == (("a@codegen", "a@act"), ("once",))
    assert read(pytester, "--autoweb-agent=codegen:turns").codegen == ("turns",)


def test_one_variant_is_how_every_model_writes(pytester: pytest.Pytester) -> None:
    settings = read(pytester, "--autoweb-agent=codegen:refs")

    assert (settings.strategy, settings.codegen) == ("codegen", ("refs",))


def test_the_nearer_place_wins_whichever_name_it_has(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nautoweb_agent = act\nautoweb_max_steps = 3\nautoweb_dir = kept\n")

    own = read(pytester, "--autoweb-strategy=collect", AUTOWEB_MAX_TURNS="5")
    assert (own.strategy, own.max_turns, own.max_decisions) == ("collect", 5, 3)

    placed = read(pytester, "--autoweb-cassettes=tapes")
    assert (placed.cassettes.as_posix(), placed.storage.as_posix()) == ("tapes", "kept")
    config = pytester.parseconfig()
    assert named_folder(config, {}, "cassettes") == config.rootpath / "kept" / "cassettes"
    assert named_folder(config, {}, "report") == config.rootpath / "autoweb-report"


def test_the_database_lies_in_the_common_folder(pytester: pytest.Pytester) -> None:
    settings = read(pytester, "--autoweb-database", "--autoweb-dir=kept")

    assert settings.database == "sqlite:///kept/store.db"


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        ("agent=act strategy=act", "--autoweb-agent and --autoweb-strategy say the same thing"),
        ("agent=codegen:once codegen=turns", "--autoweb-agent and --autoweb-codegen say the"),
        ("max-steps=2 max-turns=3", "--autoweb-max-steps and --autoweb-max-turns say the same"),
        ("agent=codegen:onec", "--autoweb-agent: unknown agent 'codegen:onec'; did you mean "),
        ("agent=act:once", "--autoweb-agent: unknown agent 'act:once'"),
        ("store=x record-mode=al", "--autoweb-record-mode: 'al' is not allowed; allowed: off, rec"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    pytester: pytest.Pytester, flags: str, sentence: str
) -> None:
    with pytest.raises(SettingsError, match=sentence):
        read(pytester, *(f"--autoweb-{word}" for word in flags.split()))


def test_a_folder_of_cases_is_not_taken_for_the_name_of_a_run(pytester: pytest.Pytester) -> None:
    pytester.mkdir("cases")

    with pytest.raises(SettingsError, match="--autoweb-save cases names a path; write --autow"):
        read(pytester, "--autoweb-save", "cases")


def test_old_names_are_told_with_the_new_one_of_the_same_place(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nautoweb_cassettes = tapes\nautoweb_language = zh\n")
    config = pytester.parseconfig("--autoweb-agents=act", "--autoweb-report-max-chars=20000")

    end = "is an old name, read for one more version; use"
    assert old_names(config, {"AUTOWEB_STORE": "sqlite:///x.db"}) == [
        f"--autoweb-agents {end} --autoweb-agent=A,B",
        f"AUTOWEB_STORE {end} AUTOWEB_DATABASE",
        f"ini key autoweb_cassettes {end} ini key autoweb_dir=DIR, and they are in DIR/cassettes",
    ]
    assert old_names(pytester.parseconfig("--autoweb-strategy=act"), os.environ)[1:] == []


def test_an_old_name_that_shields_from_the_project_is_not_told(pytester: pytest.Pytester) -> None:
    config = pytester.parseconfig("--autoweb-store=", "--autoweb-autosave=false")

    assert old_names(config, {}) == []


@pytest.mark.parametrize(
    ("text", "read_as"),
    [
        ("decided", Until(95.0)),
        ("decided@99,$5,30m", Until(99.0, 5.0, 1800.0)),
        ("2h,$0.50", Until(None, 0.5, 7200.0)),
        ("90s", Until(None, None, 90.0)),
        ("", Until()),
    ],
)
def test_what_ends_a_run_early_is_read_and_shown_as_written(text: str, read_as: Until) -> None:
    assert until(text) == read_as
    assert until(str(read_as)) == read_as
    assert bool(read_as) is bool(text)


@pytest.mark.parametrize("text", ["decide", "decided@40", "decided,decided@99", "$-1", "30", "0m"])
def test_what_cannot_end_a_run_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"allowed|not an amount|between 50 and 100|says twice"):
        until(text)


def test_the_money_of_until_is_the_cap_on_the_cost(pytester: pytest.Pytester) -> None:
    capped = read(pytester, "--autoweb-models=a", "--autoweb-until=$5", AUTOWEB_MAX_COST="9")
    free = read(pytester, "--autoweb-models=a", "--autoweb-until=30m", AUTOWEB_MAX_COST="9")

    assert (capped.max_cost, capped.sources["max_cost"]) == (5.0, "flag")
    assert free.max_cost == 9.0


@pytest.mark.parametrize("other", ["--autoweb-shard=1/2", "--autoweb-cluster=auto"])
def test_until_needs_one_folder_for_all_cells(pytester: pytest.Pytester, other: str) -> None:
    with pytest.raises(SettingsError, match="--autoweb-until"):
        read(pytester, "--autoweb-models=a,b", "--autoweb-until=decided", other)
