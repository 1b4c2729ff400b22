// Returns the tools that a document offers by WebMCP, and whether the browser or our own script
// (webmcp_offer.js) gave it the means to do so. What is too long is shortened here already.
async (tools, { most, chars }) => {
  const context = document.modelContext;
  if (typeof context?.getTools !== 'function') return { engine: '', tools: [], count: 0 };
  const found = [...await context.getTools()];
  const text = (value) => String(value ?? '').slice(0, chars);
  const schema = (given) => {
    const written = typeof given === 'string' ? given : JSON.stringify(given ?? null);
    return written.length > chars ? '' : written;
  };
  const hints = (one) => Object.keys(one ?? {}).filter((name) => one[name] === true).map(text);
  return {
    engine: context[Symbol.for('autoweb webmcp')] ? 'script' : 'browser',
    count: found.length,
    tools: found.slice(0, most).map((tool) => ({
      name: text(tool.name),
      description: text(tool.description),
      schema: schema(tool.inputSchema),
      hints: hints(tool.annotations),
    })),
  };
}
