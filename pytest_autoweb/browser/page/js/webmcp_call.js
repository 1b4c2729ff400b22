// Calls a tool of a document and returns what it gave back, as JSON, or why it failed. A form
// without `toolautosubmit` answers when somebody sends it, so it is not waited for.
async (tools, { name, input, chars, form_ms }) => {
  const context = document.modelContext;
  const tool = [...await context.getTools()].find((one) => one.name === name);
  if (!tool) return { error: `the page offers no tool ${name}` };
  const forms = [...document.querySelectorAll('form[toolname]:not([toolautosubmit])')];
  const waits = forms.some((form) => form.getAttribute('toolname') === name);
  try {
    const done = (async () => {
      try {
        return await context.executeTool(tool, input);
      } catch (problem) {
        // Versions of the draft differ in the form of the input.
        if (!String(problem?.message).includes('Failed to parse input')) throw problem;
        return context.executeTool(tool, JSON.stringify(input));
      }
    })();
    const filled = new Promise((resolve) => {
      if (waits) setTimeout(resolve, form_ms, { filled: true });
    });
    const ended = await Promise.race([done.then((result) => ({ result: result ?? null })), filled]);
    const { result = null } = ended;
    return { ...ended, result: typeof result === 'string' ? result.slice(0, chars) : null };
  } catch (problem) {
    return { error: String(problem?.message ?? problem).slice(0, chars) };
  }
}
