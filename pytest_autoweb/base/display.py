"""Whether somebody could see a window."""

from collections.abc import Mapping


def has_display(environ: Mapping[str, str], platform: str) -> bool:
    """Tell whether a window can be opened here and would be seen."""
    if platform in ("darwin", "win32"):
        return "SSH_CONNECTION" not in environ
    # Over SSH with a forwarded display, there is one.
    return bool(environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"))
