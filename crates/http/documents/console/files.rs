//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-2pv0UojX.js", include_bytes!("assets/feed-2pv0UojX.js")),
    ("assets/index-BXTBVQNS.css", include_bytes!("assets/index-BXTBVQNS.css")),
    ("assets/index-D4MUj817.js", include_bytes!("assets/index-D4MUj817.js")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
