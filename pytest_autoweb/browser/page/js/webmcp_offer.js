// Offers the API of the W3C's WebMCP draft (webmachinelearning.github.io/webmcp) where the browser
// has none, forms with `toolname` among its tools, and where it has: the names of earlier drafts,
// for which most sites are written. Runs in each document before the page's own scripts.
() => {
  const MARK = Symbol.for('autoweb webmcp');
  if (!window.isSecureContext || document[MARK]) return;
  const put = (owner, name, value) =>
    Object.defineProperty(owner, name, { value, configurable: true, writable: true });
  put(document, MARK, true);
  const NAME = /^[\w.-]{1,128}$/;
  const wrong = (text, kind = 'InvalidStateError') => new DOMException(text, kind);

  // -- forms: what a form with `toolname` asks for, and how it is filled in and sent -------------

  const BESIDE = new Set(['submit', 'button', 'reset', 'image', 'hidden', 'file']);
  const fieldsOf = (form) => {
    const groups = new Map();
    for (const field of form.elements) {
      if (!field.name || field.disabled || BESIDE.has(field.type)) continue;
      if (!['INPUT', 'SELECT', 'TEXTAREA'].includes(field.tagName)) continue;
      groups.set(field.name, [...(groups.get(field.name) ?? []), field]);
    }
    return groups;
  };
  const labelOf = (field) => field.getAttribute('toolparamdescription')
    || (field.labels?.[0]?.textContent ?? '').replace(/\s+/g, ' ').trim();
  const typeOf = (fields) => {
    const [field] = fields;
    const values = fields.map((one) => one.value);
    if (field.type === 'radio') return { type: 'string', enum: values };
    if (field.type === 'checkbox') {
      const many = { type: 'array', items: { type: 'string', enum: values } };
      return fields.length > 1 ? many : { type: 'boolean' };
    }
    if (field.tagName === 'SELECT') {
      const one = { type: 'string', enum: [...field.options].map((option) => option.value) };
      return field.multiple ? { type: 'array', items: one } : one;
    }
    if (field.type === 'number' || field.type === 'range') {
      const limits = [['minimum', field.min], ['maximum', field.max]];
      const set = limits.filter(([, limit]) => limit !== '');
      return { type: 'number', ...Object.fromEntries(set.map(([key, at]) => [key, Number(at)])) };
    }
    return { type: 'string', ...(field.maxLength > 0 ? { maxLength: field.maxLength } : {}) };
  };
  const schemaOf = (form) => {
    const properties = {}, required = [];
    for (const [name, fields] of fieldsOf(form)) {
      const description = labelOf(fields[0]);
      properties[name] = { ...typeOf(fields), ...(description ? { description } : {}) };
      if (fields.some((field) => field.required)) required.push(name);
    }
    return { type: 'object', properties, required };
  };
  const set = (field, value) => {
    const ticks = field.type === 'checkbox' || field.type === 'radio';
    const many = [value].flat().map(String);
    if (field.tagName === 'SELECT') {
      for (const option of field.options) option.selected = many.includes(option.value);
    } else if (ticks) {
      field.checked = value === true || (typeof value !== 'boolean' && many.includes(field.value));
    } else {
      // A framework that replaces the field's own setter would not notice a plain assignment.
      const { set: own } = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), 'value');
      own.call(field, String(value));
    }
    for (const kind of ['input', 'change']) field.dispatchEvent(new Event(kind, { bubbles: true }));
  };
  const executeForm = async (form, input) => {
    for (const [name, fields] of fieldsOf(form)) {
      if (name in input) for (const field of fields) set(field, input[name]);
    }
    if (!form.noValidate && !form.checkValidity()) {
      const [field] = [...form.elements].filter((one) => one.willValidate && !one.validity.valid);
      throw wrong(`the form refuses ${field?.name}: ${field?.validationMessage}`, 'DataError');
    }
    return new Promise((resolve, reject) => {
      const sent = (event) => {
        if (event.target !== form) return;
        window.removeEventListener('submit', sent, true);
        let answer;
        put(event, 'agentInvoked', true);
        put(event, 'respondWith', (promise) => { answer = promise; });
        setTimeout(() => {
          if (answer || !event.defaultPrevented) resolve(answer ?? null);
          else reject(wrong('the page stops the form without respondWith()', 'OperationError'));
        });
      };
      window.addEventListener('submit', sent, true);
      // Without the attribute a person is to look at the form and send it.
      if (form.hasAttribute('toolautosubmit')) form.requestSubmit();
    });
  };

  // -- the draft's interface ---------------------------------------------------------------------

  class ModelContext extends EventTarget {
    #tools = new Map();

    async registerTool(tool, { signal } = {}) {
      const { name, description, inputSchema, execute } = tool;
      if (!NAME.test(name)) throw wrong(`${name} is no name of a tool`);
      if (!description) throw wrong(`the tool ${name} has no description`);
      if (typeof execute !== 'function') throw new TypeError(`the tool ${name} has no execute`);
      if (this.#all().has(name)) throw wrong(`there is a tool ${name} already`);
      signal?.throwIfAborted();
      const schema = inputSchema === undefined ? undefined : JSON.parse(JSON.stringify(inputSchema));
      this.#tools.set(name, { ...tool, name: String(name), inputSchema: schema });
      signal?.addEventListener('abort', () => {
        this.#tools.delete(name);
        this.dispatchEvent(new Event('toolchange'));
      });
      this.dispatchEvent(new Event('toolchange'));
    }

    async getTools() {
      return [...this.#all().values()]
        .map(({ name, title, description, inputSchema, annotations }) => ({
          name, title: title ?? '', description, inputSchema, annotations, origin: location.origin,
          window }))
        .sort((one, other) => (one.name < other.name ? -1 : 1));
    }

    async executeTool({ name }, input = {}) {
      const tool = this.#all().get(name);
      if (!tool) throw wrong(`there is no tool ${name}`, 'UnknownError');
      const given = JSON.parse(typeof input === 'string' ? input : JSON.stringify(input));
      const controller = new AbortController();
      const result = await tool.execute(given, { signal: controller.signal });
      return result === undefined ? 'null' : JSON.stringify(result);
    }

    #all() {
      const all = new Map(this.#tools);
      for (const form of document.querySelectorAll('form[toolname][tooldescription]')) {
        const name = form.getAttribute('toolname');
        if (all.has(name)) continue;
        all.set(name, { name, description: form.getAttribute('tooldescription'),
          inputSchema: schemaOf(form), execute: (input) => executeForm(form, input) });
      }
      return all;
    }
  }

  // -- earlier drafts: `navigator.modelContext`, with tools that are removed by name -------------

  class EarlierContext {
    #context;
    #known = new Map();

    constructor(context) { this.#context = context; }

    registerTool(tool, options) {
      const removal = new AbortController();
      options?.signal?.addEventListener('abort', () => removal.abort());
      // Earlier drafts hand over an agent that asks the user, whom nobody asks here.
      const execute = (input, more) => tool.execute(
        input, { ...more, requestUserInteraction: async (ask) => ask() });
      const kept = { ...tool, execute };
      const done = this.#context.registerTool(kept, { ...options, signal: removal.signal });
      this.#known.set(tool.name, removal);
      return done;
    }

    unregisterTool(name) { this.#known.get(name)?.abort(); this.#known.delete(name); }

    clearContext() { for (const name of this.#known.keys()) this.unregisterTool(name); }

    provideContext({ tools = [] } = {}) {
      this.clearContext();
      for (const tool of tools) this.registerTool(tool);
    }

    getTools(options) { return this.#context.getTools(options); }

    executeTool(...args) { return this.#context.executeTool(...args); }
  }

  if (!('modelContext' in document)) {
    const made = new ModelContext();
    put(made, MARK, true);
    put(document, 'modelContext', made);
  }
  if (!('modelContext' in navigator)) {
    put(navigator, 'modelContext', new EarlierContext(document.modelContext));
  }
}
