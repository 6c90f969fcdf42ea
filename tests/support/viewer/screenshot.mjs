// usage: node screenshot.mjs speedscope|perfetto VIEWER_FOLDER TRACE OUT.png [LANE]
// example: node tests/support/viewer/screenshot.mjs perfetto build/viewer traces/node0.json out.png
const [viewer, viewer_folder, trace, out, lane] = process.argv.slice(2);
const {screenshot} = await import(`./${viewer}.mjs`);
await screenshot(viewer_folder, trace, out, lane);
