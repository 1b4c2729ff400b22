"""Outside agents: third-party programs that drive a cell's browser with a model.

Their processes, each one's browser, and the endpoint through which they call the model. The list of
agents is in `cell/strategies.py`; judging and evidence work as for every other attempt.
"""
