// Package report checks the page of nodekeeper report in a real browser: on a
// wide screen and on a phone, light and dark, on paper, and by axe-core for
// those who do not see it.
//
//	node_test.go     a day of a node, in files by the product's own writers
//	hostile_test.go  a node whose every text is an attack
//	page_test.go     what holds of each page
//	browser_test.go  Chromium
//	prepare          installs Chromium and fetches axe-core
package report
