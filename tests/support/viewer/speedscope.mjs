// speedscope (npm): a list of profiles, one per process and thread, and one of them drawn.
import path from 'node:path';
import {with_page} from './browser.mjs';

// Calls use(page, problems) once the trace is drawn or refused.
export function with_trace(viewer_folder, trace, use) {
  const release = path.join(viewer_folder, 'node_modules/speedscope/dist/release');
  return with_page(viewer_folder, release, trace, async (page, origin, problems) => {
    await page.goto(`${origin}/index.html#profileURL=${encodeURIComponent(`${origin}/trace.json`)}`);
    const drawn = page.getByText('Left Heavy').first();
    const failed = page.getByText(/Something went wrong/).first();
    await drawn.or(failed).waitFor();
    if (await failed.isVisible()) problems.push(await failed.innerText());
    return use(page, problems);
  });
}

// The names of all profiles of the opened trace (speedscope shows one per process and thread), in
// its order. The list drops down from the title, which says "name (1/12)"; a single one has no list.
export async function profile_names(page) {
  const title = page.getByText(/\(\d+\/\d+\)$/).first();
  if (!await title.isVisible()) return [await page.title()];
  const count = Number((await title.innerText()).match(/\/(\d+)\)$/)[1]);
  await title.hover();
  await page.getByText('Total Weight').first().waitFor();
  const text = await page.locator('body').innerText();
  const names = [...text.matchAll(/^\d+\t(.*)\t[^\t]*$/gm)].map((match) => match[1]);
  if (names.length !== count) throw new Error(`${count} profiles, but ${names.length} in the list`);
  return names;
}

export function inspect(viewer_folder, trace) {
  return with_trace(viewer_folder, trace, async (page, problems) =>
      ({problems, profiles: problems.length ? [] : await profile_names(page)}));
}

// `lane` is a part of the lane's name; without it the first one is drawn.
export function screenshot(viewer_folder, trace, out, lane) {
  return with_trace(viewer_folder, trace, async (page, problems) => {
    if (problems.length) throw new Error(problems.join('; '));
    if (lane) {
      await page.getByText(/\(\d+\/\d+\)$/).first().hover();
      await page.getByText(lane).last().click();
      await page.mouse.move(800, 600);
    }
    await page.waitForTimeout(1000);  // the chart is drawn by animation frames
    await page.screenshot({path: out});
  });
}
