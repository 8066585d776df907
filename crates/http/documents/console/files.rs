//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-DjV9tAwJ.js", include_bytes!("assets/feed-DjV9tAwJ.js")),
    ("assets/index-BE15U_jg.css", include_bytes!("assets/index-BE15U_jg.css")),
    ("assets/index-s8i-xD_b.js", include_bytes!("assets/index-s8i-xD_b.js")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
