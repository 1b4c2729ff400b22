"""Recognises keys that nobody declared by their shape.

A shape is sure enough to be taken out of anything that is kept, also of what pages and models say.
"""

import re
from typing import NamedTuple

from pytest_autoweb.base.redaction.secret_forms import REDACTED


class KeyShape(NamedTuple):
    """The shape of the keys of a service.

    A pattern may name a group `kept`, which is no secret.
    """

    service: str
    pattern: str
    random: bool = False
    """Whether the pattern fits ordinary names as well, so that the rest has to look random."""


_T = "[A-Za-z0-9_-]"
_A = "[A-Za-z0-9]"
SHAPES: tuple[KeyShape, ...] = (
    KeyShape("OpenAI, Anthropic, OpenRouter", rf"sk-(?:proj|ant|or|svcacct|admin|lf)-{_T}{{16,}}"),
    KeyShape("OpenAI, DeepSeek and others", rf"(?:sk|pk|rk)-{_T}{{16,}}", random=True),
    KeyShape("Groq, xAI, Hugging Face", rf"(?:gsk_|xai-|hf_){_A}{{20,}}", random=True),
    KeyShape("Perplexity, Cerebras, NVIDIA", rf"(?:pplx|csk|nvapi)-{_T}{{20,}}", random=True),
    KeyShape("Replicate, Fireworks", rf"(?:r8|fw)_{_A}{{20,}}", random=True),
    KeyShape("Tavily, Firecrawl", rf"(?:tvly|fc)-{_T}{{24,}}", random=True),
    KeyShape("Google", rf"AIza{_T}{{30,}}"),
    KeyShape("Google OAuth", rf"ya29\.{_T}{{20,}}|GOCSPX-{_T}{{20,}}|1//0{_T}{{30,}}"),
    KeyShape("GitHub", rf"gh[oprsu]_{_A}{{20,}}|github_pat_[A-Za-z0-9_]{{20,}}"),
    KeyShape("GitLab", rf"glpat-{_T}{{16,}}"),
    KeyShape("GitLab", rf"gl(?:rt|rtr|dt|ptt|cbt|imt|ft|soat|agent|oas)-{_T}{{18,}}", random=True),
    KeyShape("Slack", rf"xox[abceoprs](?:\.xox[bp])?-{_T}{{10,}}|xapp-\d-{_T}{{20,}}"),
    KeyShape(
        "webhooks of Slack and Discord",
        rf"https://(?:hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/]{{20,}}"
        rf"|discord(?:app)?\.com/api/webhooks/\d+/{_T}{{20,}})",
    ),
    KeyShape("Stripe", rf"[prs]k_(?:live|test)_{_A}{{10,}}|whsec_[A-Za-z0-9+/]{{20,}}=*"),
    KeyShape("AWS", r"A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    KeyShape("npm, PyPI", rf"npm_{_A}{{30,}}|pypi-{_T}{{40,}}"),
    KeyShape("SendGrid", rf"SG\.{_T}{{16,}}\.{_T}{{16,}}"),
    KeyShape("Twilio", r"SK[0-9a-f]{32}(?![A-Za-z0-9])"),
    KeyShape("Mailgun", r"key-[0-9a-f]{32}(?![A-Za-z0-9])"),
    KeyShape("DigitalOcean", r"do[opr]_v1_[0-9a-f]{40,}"),
    KeyShape("Shopify", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    KeyShape("Square, Facebook", rf"(?<![+/])EAA{_T}{{50,}}|sq0[a-z]{{3}}-{_T}{{22,}}"),
    KeyShape("Telegram", rf"\d{{8,10}}:AA{_T}{{30,}}"),
    KeyShape("Discord", rf"{_T}{{24,28}}\.{_T}{{6}}\.{_T}{{27,}}", random=True),
    KeyShape("JSON Web Token", rf"eyJ{_T}{{5,}}\.{_T}{{5,}}\.{_T}*"),
    KeyShape("Azure", r"(?P<kept>(?:Account|SharedAccess)Key=)[A-Za-z0-9+/]{40,}={0,2}"),
    KeyShape("Linear, Notion", rf"lin_(?:api|oauth)_{_A}{{30,}}|ntn_{_A}{{40,}}"),
    KeyShape("Databricks", r"dapi[0-9a-f]{32}(?:-\d)?(?![A-Za-z0-9])"),
    KeyShape("age", r"AGE-SECRET-KEY-1[0-9A-Z]{50,}"),
    KeyShape("Atlassian", r"AT(?:ATT|CTT|BB)3?[A-Za-z0-9_=-]{60,}"),
    KeyShape("Docker Hub", rf"dckr_[po]at_{_T}{{20,}}"),
    KeyShape("Vault", rf"hv[bsr]\.{_T}{{24,}}", random=True),
    KeyShape("HCP Terraform", rf"{_A}{{14}}\.atlasv1\.{_T}{{50,}}"),
    KeyShape("Grafana, Supabase, Figma", rf"(?:glsa|sbp|figd)_{_T}{{30,}}", random=True),
    KeyShape("Postman, New Relic", rf"(?:PMAK|NRAK)-{_T}{{24,}}"),
    KeyShape(
        "a private key",
        r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:[\s\S]{0,20000}?-----END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----"
        r"|[A-Za-z0-9+/=\s\\]*)",
    ),
    KeyShape(
        "an address with a password",
        r"(?P<kept>[a-zA-Z][a-zA-Z0-9+.-]{1,20}://[^\s:/@?#\"'<>\\]{0,100}:)"
        r"(?!(?:\*+|x+|pass|password|pwd|PASSWORD)@)[^\s/@\"'<>{}$\\]{1,200}(?=@[\w\[])",
    ),
)
"""The documented shapes of keys, tokens and webhooks."""

# After a letter, a shape is a part of a word; after an escape such as `\n` or `%20` it is not.
_BEGINS = r"(?:(?<![A-Za-z0-9])|(?<=%[0-9A-Fa-f]{2})|(?<=\\[nrt])|(?<=\\u[0-9A-Fa-f]{4}))"


def _pattern(random: bool) -> re.Pattern[str]:
    shapes = [one.pattern for one in SHAPES if one.random == random]
    named = (re.sub(r"\(\?P<kept>", f"(?P<kept{n}>", one) for n, one in enumerate(shapes))
    return re.compile(f"{_BEGINS}(?:{'|'.join(named)})")


_SURE, _LIKELY = _pattern(random=False), _pattern(random=True)
_WORDS = re.compile(r"[-_.]+")
_NO_WORD = 20
"""Hardly any word has as many letters."""


def _looks_random(text: str) -> bool:
    """Tell whether what may be a key is no name made of words."""
    longest = max(_WORDS.split(text), key=len)
    if len(longest) >= _NO_WORD:
        return True
    digits = any(map(str.isdigit, longest))
    # A word in capitals and small letters, as programs write it, has few changes between them.
    changes = len(re.findall(r"[a-z][A-Z]|[A-Z]{2}[a-z]", longest))
    return len(longest) >= 10 and (digits or changes * 6 >= len(longest))


def redact_shapes(text: str, mask: str = REDACTED) -> str:
    """Return the text without anything that has the shape of a key."""

    def hidden(match: re.Match[str]) -> str:
        kept = next((part for part in match.groups() if part), "")
        return kept + mask

    def hidden_if_random(match: re.Match[str]) -> str:
        return mask if _looks_random(match[0]) else match[0]

    return _LIKELY.sub(hidden_if_random, _SURE.sub(hidden, text))


# -- beside the names of headers and fields -------------------------------------------------
