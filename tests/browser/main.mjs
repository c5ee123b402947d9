// The browser tests, one after the other against one system: `make browser-test`.

import "./code.test.mjs";
import "./story.test.mjs";
import "./builder.test.mjs";
import "./editor.test.mjs";
import "./access.test.mjs";
import "./injection.test.mjs";
import "./accessibility.test.mjs";
import "./redraw.test.mjs";
