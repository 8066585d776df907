//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed--uynLZ3g.js", include_bytes!("assets/feed--uynLZ3g.js")),
    ("assets/index-BFO1xszX.css", include_bytes!("assets/index-BFO1xszX.css")),
    ("assets/index-qPzn-kCI.js", include_bytes!("assets/index-qPzn-kCI.js")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
