"""The secrets of an attempt, of which some change while it runs."""

from collections.abc import Callable, Iterator, Mapping


class SecretsOfTheMoment(Mapping[str, str]):
    """What is typed for each secret; a one-time code is made when it is looked up.

    Args:
        values: by name; of one-time codes, their keys.
        codes: what makes or fetches codes, by name.
        hide: is told the name and each code before anybody gets it.
    """

    def __init__(
        self,
        values: Mapping[str, str],
        codes: Mapping[str, Callable[[], str]],
        hide: Callable[[str, str], None],
    ) -> None:
        self._values, self._codes, self._hide = values, codes, hide

    def __getitem__(self, name: str) -> str:
        if name not in self._codes:
            return self._values[name]
        code = self._codes[name]()
        self._hide(name, code)
        return code

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)
