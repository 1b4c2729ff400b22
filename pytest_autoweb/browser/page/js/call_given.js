// USER_CODE is replaced by a case author's function or expression, or a function of their statements.
async () => {
  try {
    const given = USER_CODE;
    const result = typeof given === 'function' ? await given() : await given;
    let shown;
    try {
      shown = JSON.stringify(result);
    } catch {
      shown = String(result);
    }
    return JSON.stringify({ truthy: Boolean(result), shown: String(shown).slice(0, 500) });
  } catch (error) {
    return JSON.stringify({ error: String((error && error.message) || error).slice(0, 500) || 'error' });
  }
}
