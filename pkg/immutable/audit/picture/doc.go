// Package picture draws counts over time as an SVG: panels one below the other,
// each with its own time axis, as bars stacked by series. It takes the colour of
// its text from where it is shown, and is readable on light and dark grounds.
package picture
