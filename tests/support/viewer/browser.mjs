// A headless Chromium page, and a server on this machine for a viewer's files and one trace.
import {createReadStream, existsSync, statSync} from 'node:fs';
import {createServer} from 'node:http';
import {createRequire} from 'node:module';
import path from 'node:path';

const types = {'.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css',
               '.json': 'application/json', '.wasm': 'application/wasm'};

// Serves a viewer's folder, and the trace as /trace.json.
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

// The viewers draw with WebGL: without a GPU that is SwiftShader, so never --disable-gpu.
const browser_flags = ['--no-sandbox', '--disable-quic', '--no-first-run',
                       '--disable-background-networking', '--disable-component-update',
                       '--disable-sync', '--use-angle=swiftshader', '--enable-unsafe-swiftshader'];

// Calls use(page, origin, problems) with a blank page; origin serves `folder` and /trace.json. Nothing
// here has a deadline: on a busy machine any is too short, and who runs the test has one.
// What the page complains of is appended to `problems`. viewer_folder is where npm put
// playwright-core.
export async function with_page(viewer_folder, folder, trace, use, {width = 1600, height = 900} = {}) {
  const {chromium} = createRequire(path.resolve(viewer_folder, 'package.json'))('playwright-core');
  const server = await serve(folder, trace);
  const browser = await chromium.launch(
      {executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: browser_flags, timeout: 0});
  try {
    const page = await browser.newPage({viewport: {width, height}});
    page.setDefaultTimeout(0);
    const problems = [];
    page.on('pageerror', (error) => problems.push(String(error)));
    page.on('dialog', (dialog) => { problems.push(dialog.message()); dialog.dismiss(); });
    return await use(page, `http://127.0.0.1:${server.address().port}`, problems);
  } finally {
    await browser.close();
    server.close();
  }
}
