"""The strategy `act`.

A model looks at a marked page and decides on one action, which is verified before it is performed.
How a choice is matched to an element lives in `agents/choice`, how pages are marked in
`browser/marks`.
"""
