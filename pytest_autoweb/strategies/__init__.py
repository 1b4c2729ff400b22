"""The strategies: how a model may drive the browser.

Each module but `stage_lists` adds one, and there is no other list of them. The stages that they are
made of are functions of `stages/`.
"""
