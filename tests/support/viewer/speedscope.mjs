// Opens a trace in speedscope (npm), in headless Chromium, with no network but this machine's own.
import {createReadStream, existsSync, statSync} from 'node:fs';
import {createServer} from 'node:http';
import {createRequire} from 'node:module';
import path from 'node:path';

const types = {'.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css',
               '.json': 'application/json', '.wasm': 'application/wasm'};

// Serves speedscope's files, and the trace as /trace.json.
function serve(folder, trace) {
  const server = createServer((request, response) => {
    const name = new URL(request.url, 'http://localhost').pathname;
    const file = name === '/trace.json' ? trace : path.join(folder, path.normalize(name));
    if (!existsSync(file) || !statSync(file).isFile()) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, {'Content-Type': types[path.extname(name)] ?? 'application/octet-stream'});
    createReadStream(file).pipe(response);
  });
  return new Promise((done) => server.listen(0, '127.0.0.1', () => done(server)));
}

// speedscope draws with WebGL: without a GPU that is SwiftShader, so never --disable-gpu.
const browser_flags = ['--no-sandbox', '--disable-quic', '--no-first-run',
                       '--disable-background-networking', '--disable-component-update',
                       '--disable-sync', '--use-angle=swiftshader', '--enable-unsafe-swiftshader'];

// Calls use(page) once the trace's first chart is drawn; anything the page complains of is in
// page_problems. viewer_folder is where npm put speedscope and playwright-core.
export async function with_trace(viewer_folder, trace, use, {width = 1600, height = 900} = {}) {
  const from_viewer = createRequire(path.resolve(viewer_folder, 'package.json'));
  const {chromium} = from_viewer('playwright-core');
  const release = path.join(path.dirname(from_viewer.resolve('speedscope/package.json')), 'dist/release');
  const server = await serve(release, trace);
  const browser = await chromium.launch(
      {executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: browser_flags});
  try {
    const page = await browser.newPage({viewport: {width, height}});
    const page_problems = [];
    page.on('pageerror', (error) => page_problems.push(String(error)));
    page.on('dialog', (dialog) => { page_problems.push(dialog.message()); dialog.dismiss(); });
    const origin = `http://127.0.0.1:${server.address().port}`;
    await page.goto(`${origin}/index.html#profileURL=${encodeURIComponent(`${origin}/trace.json`)}`);
    const drawn = page.getByText('Left Heavy').first();
    const failed = page.getByText(/Something went wrong/).first();
    await drawn.or(failed).waitFor({timeout: 90_000});
    if (await failed.isVisible()) page_problems.push(await failed.innerText());
    return await use(page, page_problems);
  } finally {
    await browser.close();
    server.close();
  }
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
