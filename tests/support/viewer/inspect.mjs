// usage: node inspect.mjs speedscope|perfetto|catapult VIEWER_FOLDER TRACE
// Prints what the viewer made of the trace: {"problems": [...], "lanes" or "profiles": [...]}
const [viewer, viewer_folder, trace] = process.argv.slice(2);
const {inspect} = await import(`./${viewer}.mjs`);
console.log(JSON.stringify(await inspect(viewer_folder, trace)));
