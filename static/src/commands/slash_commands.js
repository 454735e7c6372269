/**
 * What can be typed after a slash, as pure data.
 *
 * @typedef {Object} SlashCommand
 * @property {string} name with its slash; what completes to it
 * @property {string} about
 * @property {boolean} [takesWords] what stands behind it is for it
 * @property {Object|null} prompt of a server, as `GET …/prompts` lists it, or a saved one in the same form
 */

/** `/server:prompt`; blanks would end the name. */
export function promptCommand(prompt) {
    const name = `/${prompt.server.name}:${prompt.name}`.replace(/\s+/g, "_");
    return { name, about: prompt.title || prompt.description || "", prompt };
}

/**
 * `/name` of the prompts that people and workspaces keep, or `/workspace:name` where an earlier one has the name. Their
 * fields are asked for like the arguments of a server's prompt.
 *
 * @returns {SlashCommand[]}
 */
export function savedCommands(prompts) {
    const commands = new Map();
    for (const { id, name, content, fields, workspace } of prompts) {
        const [about] = content.split("\n");
        const isTaken = commands.has(`/${name}`.toLowerCase());
        const typed = isTaken && workspace ? `/${workspace.name}:${name}` : `/${name}`;
        const command = {
            name: typed.replace(/\s+/g, "_"),
            about: workspace ? `${workspace.name} · ${about}` : about,
            prompt: {
                savedId: id,
                name,
                arguments: fields.map((field) => ({ name: field, required: true })),
            },
        };
        commands.set(command.name.toLowerCase(), command);
    }
    return [...commands.values()];
}

/** @returns {SlashCommand[]} those that the text may become; a text that is no command has none */
export function matchingCommands(commands, text) {
    if (!text.startsWith("/") || text.includes("\n")) {
        return [];
    }
    const typed = text.toLowerCase();
    return commands.filter(({ name }) => name.toLowerCase().startsWith(typed));
}

/** @returns {string} the first word of a text that looks like a command; a path or a second line is no command */
export function commandName(text) {
    return /^\/[\p{L}\p{M}\p{N}_:.-]+(?=[^\S\n]|$)/u.exec(text)?.[0] ?? "";
}

/** @returns {SlashCommand|undefined} the command that the text is, with the `words` behind it if it takes some */
export function commandOf(commands, text) {
    const typed = text.trim();
    const found = commands.find(({ name }) => name.toLowerCase() === typed.toLowerCase());
    if (found) {
        return found;
    }
    const name = commandName(typed);
    const command = commands.find((one) => one.takesWords && one.name === name.toLowerCase());
    return command && { ...command, words: typed.slice(name.length).trim() };
}
