// usage: node screenshot.mjs VIEWER_FOLDER TRACE OUT.png [PROFILE]
// Draws one lane of a trace as speedscope shows it; PROFILE is a part of the lane's name.
import {with_trace} from './speedscope.mjs';

const [viewer_folder, trace, out, profile] = process.argv.slice(2);
await with_trace(viewer_folder, trace, async (page, problems) => {
  if (problems.length) throw new Error(problems.join('; '));
  if (profile) {
    await page.getByText(/\(\d+\/\d+\)$/).first().hover();
    await page.getByText(profile).last().click();
    await page.mouse.move(800, 600);
  }
  await page.waitForTimeout(1000);  // the chart is drawn by animation frames
  await page.screenshot({path: out});
});
