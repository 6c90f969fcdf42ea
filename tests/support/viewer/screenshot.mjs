// usage: node screenshot.mjs speedscope|perfetto VIEWER_FOLDER TRACE OUT.png [LANE]
// example: node tests/support/viewer/screenshot.mjs perfetto build/viewer traces/node0.json out.png
const [viewer, viewer_folder, trace, out, lane] = process.argv.slice(2);
const {screenshot} = await import(`./${viewer}.mjs`);
try {
  await screenshot(viewer_folder, trace, out, lane);
} catch (error) {
  if (!(error instanceof RangeError)) throw error;
  console.error(`screenshot.mjs: ${error.message}`);
  process.exitCode = 1;
}
