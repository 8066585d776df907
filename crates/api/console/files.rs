//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-Bf8XdIic.js", include_bytes!("assets/feed-Bf8XdIic.js")),
    ("assets/index-BlHjAvxG.css", include_bytes!("assets/index-BlHjAvxG.css")),
    ("assets/index-DEDK5Fpl.js", include_bytes!("assets/index-DEDK5Fpl.js")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
