//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-BMBThzkR.js", include_bytes!("assets/feed-BMBThzkR.js")),
    ("assets/files-GIwjuDGl.js", include_bytes!("assets/files-GIwjuDGl.js")),
    ("assets/index-Dc5U2GWN.js", include_bytes!("assets/index-Dc5U2GWN.js")),
    ("assets/index-THVjInPV.css", include_bytes!("assets/index-THVjInPV.css")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
