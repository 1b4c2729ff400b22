"""A setting is declared once: as an option of the class, and as a value of a run's settings."""

from pathlib import Path

import pytest

from pytest_autoweb.settings.run_settings import OPTIONS, Settings

DEFAULTS = {option.name: option.parse(option.default) for option in OPTIONS}


def test_the_class_has_the_option_and_a_run_its_value() -> None:
    settings = Settings({**DEFAULTS, "repeat": 3}, Path(), {})

    assert (Settings.repeat.flag, Settings.repeat.env) == ("--autoweb-repeat", "AUTOWEB_REPEAT")
    assert settings.repeat == 3
    assert settings.capture_modes == ("ARIA_SNAPSHOT",)


def test_a_setting_cannot_be_changed_during_a_run() -> None:
    settings = Settings(DEFAULTS, Path(), {})

    # The type checker warns of an ignore that is not needed, so this holds what it refuses.
    with pytest.raises(AttributeError, match="repeat cannot be changed"):
        settings.repeat = 2  # type: ignore[assignment]


@pytest.mark.parametrize("values", [{}, {**DEFAULTS, "repaet": 2}])
def test_settings_are_complete_and_known(values: dict[str, object]) -> None:
    with pytest.raises(TypeError, match="missing or unknown settings: "):
        Settings(values, Path(), {})
