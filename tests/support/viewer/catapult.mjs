// Chrome's own trace viewer (Catapult), which Perfetto's carries as its legacy view.
import {readdirSync} from 'node:fs';
import path from 'node:path';
import {with_page} from './browser.mjs';

// Runs in the page: imports the trace as chrome://tracing would, and counts what came of it.
async function import_in_page() {
  const text = await (await fetch('/trace.json')).text();
  const model = new tr.Model();
  try {
    new tr.importer.Import(model).importTraces([text]);
  } catch (error) {
    return {problems: [`import error: ${error.message ?? error}`], lanes: []};
  }
  const lanes = [];
  for (const process of model.getAllProcesses()) {
    for (const thread of Object.values(process.threads)) {
      lanes.push({pid: process.pid, process: process.name, tid: thread.tid, thread: thread.name,
                  slices: thread.sliceGroup.length});
    }
  }
  return {problems: model.importWarnings.map((warning) => warning.message), lanes};
}

export function inspect(viewer_folder, trace) {
  const perfetto = path.join(viewer_folder, 'perfetto');
  const version = readdirSync(perfetto).find((name) => /^v\d/.test(name));
  return with_page(viewer_folder, perfetto, trace, async (page, origin, problems) => {
    await page.goto(`${origin}/${version}/assets/catapult_trace_viewer.html`);
    await page.waitForFunction(() => window.tr?.importer?.Import);
    const seen = await page.evaluate(import_in_page);
    return {...seen, problems: [...problems, ...seen.problems]};
  });
}
