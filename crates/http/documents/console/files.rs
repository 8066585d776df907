//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-BRVAE0u0.js", include_bytes!("assets/feed-BRVAE0u0.js")),
    ("assets/index-WdO6dgGG.js", include_bytes!("assets/index-WdO6dgGG.js")),
    ("assets/index-eFhCWEcW.css", include_bytes!("assets/index-eFhCWEcW.css")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
