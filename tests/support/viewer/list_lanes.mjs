// usage: node list_lanes.mjs VIEWER_FOLDER TRACE      prints {"profiles": [...], "problems": [...]}
import {profile_names, with_trace} from './speedscope.mjs';

const [viewer_folder, trace] = process.argv.slice(2);
const seen = await with_trace(viewer_folder, trace, async (page, problems) =>
    ({problems, profiles: problems.length ? [] : await profile_names(page)}));
console.log(JSON.stringify(seen));
