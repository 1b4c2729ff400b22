"""The protocols in which outside agents may call the cell's model, one module each.

Each translates a request into the one form that is passed on, that of OpenAI's chat API, and the
reply into its own. What all calls share (token, limit, redaction, record) is in `model_endpoint`.
"""
