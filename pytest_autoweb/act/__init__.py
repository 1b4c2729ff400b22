"""Strategy `act`.

A model looks at a marked page, decides on one action, and the action is verified before it is
performed. How a choice is matched to an element lives in `choice`, how pages are marked in
`marks`.
"""
