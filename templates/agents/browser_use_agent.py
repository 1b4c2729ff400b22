"""browser-use as an outside agent; it runs in the environment that holds browser-use.

`autoweb agents install browser-use` makes that environment. The agent connects to the cell's
browser, and the model is asked through the cell's own endpoint.
"""

import asyncio
import json
import os
import sys
from typing import Any

# Standard output is for messages alone: whatever the library prints goes to the log.
MESSAGES = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)


def say(kind: str, **fields: Any) -> None:
    """Tell pytest-autoweb something: one JSON object a line."""
    print(json.dumps({"type": kind, **fields}), file=MESSAGES, flush=True)


async def work(start: dict[str, Any]) -> None:
    """Let browser-use do the task, and tell what it did."""
    from browser_use import Agent, BrowserSession
    from browser_use.llm import ChatOpenAI

    model, limits = start["model"], start["limits"]
    session = BrowserSession(cdp_url=start["browser"]["cdp_url"], keep_alive=True, no_viewport=True)
    llm = ChatOpenAI(
        model=model["name"],
        base_url=model["base_url"],
        api_key=model["api_key"],
        max_retries=0,
        frequency_penalty=None,
        temperature=None,
        # What tells models of OpenAI that reason from others is their name, which is another here.
        reasoning_models=[],
    )
    task = f"{start['task']}\n\nThe page {start['entry_url']} is open; work in its tab."
    if start["previous_problems"]:
        problems = "\n".join(start["previous_problems"])
        task += f"\n\nAn earlier attempt failed:\n{problems}"

    def told(state: Any, output: Any, number: int) -> None:
        actions = [action.model_dump(exclude_none=True) for action in output.action]
        say("step", description=json.dumps(actions)[:400], ok=True)

    agent = Agent(
        task=task,
        llm=llm,
        browser_session=session,
        use_vision=model["vision"],
        use_judge=False,
        sensitive_data=start["secrets"] or None,
        available_file_paths=start["files"] or None,
        file_system_path=start["folder"],
        register_new_step_callback=told,
        directly_open_url=False,
        calculate_cost=False,
    )
    history = await agent.run(max_steps=limits["decisions"])
    if not history.is_done():
        problems = [error for error in history.errors() if error]
        say("failed", reason=problems[-1] if problems else "it did not come to an end")
        return
    if (answer := history.final_result()) is not None:
        say("answer", value=answer)
    if history.is_successful() is False:
        say("failed", reason="browser-use says that it did not succeed")
    else:
        say("done")


def main() -> None:
    """Read the task, work, and end at once: what is left open is the cell's."""
    start = json.loads(sys.stdin.readline())
    os.chdir(start["folder"])
    # Its settings and its files are of this attempt alone.
    os.environ["BROWSER_USE_CONFIG_DIR"] = start["folder"]
    asyncio.run(work(start))
    MESSAGES.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
