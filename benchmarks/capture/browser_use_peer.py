"""List the tab as browser-use does, once for each line read: `browser_use_peer.py CDP_URL`."""

import asyncio
import json
import sys

from browser_use import BrowserSession  # type: ignore[import-not-found]


async def main() -> None:
    """Answer each line with what the serializer gives to the model."""
    session = BrowserSession(cdp_url=sys.argv[1])
    await session.start()
    loop = asyncio.get_running_loop()
    while await loop.run_in_executor(None, sys.stdin.readline):
        state = await session.get_browser_state_summary(include_screenshot=False)
        text = state.dom_state.llm_representation()
        print(json.dumps({"listing": text}), flush=True)


asyncio.run(main())
