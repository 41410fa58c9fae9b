package controller

// Lead has the controller take itself for the one that leads, without its workers.
func (c *Controller) Lead() { c.running.Store(true) }
