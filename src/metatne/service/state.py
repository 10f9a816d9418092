"""What all routes of a service share."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from metatne.service.catalogue import Catalogue
from metatne.service.desk import Desk
from metatne.service.jobs import Jobs
from metatne.service.limits import MAX_AT_PROJECTS, MAX_FOR_PROJECTS
from metatne.service.project_database import ProjectDatabase
from metatne.service.projects import ProjectStore


@dataclass
class ServiceState:
    """Models, workers, rankings that are kept, and label projects."""

    database: ProjectDatabase
    projects: ProjectStore
    catalogue: Catalogue = field(default_factory=Catalogue)
    jobs: Jobs = field(default_factory=Jobs)
    project_jobs: Jobs = field(default_factory=lambda: Jobs(MAX_AT_PROJECTS, MAX_FOR_PROJECTS))
    """For label projects alone: who waits for their file keeps no one else waiting."""

    desk: Desk = field(default_factory=Desk)

    @classmethod
    def open(cls, data: Path) -> ServiceState:
        """A service that keeps its projects in `data`, and has no models yet."""
        database = ProjectDatabase(data)
        return cls(database, ProjectStore(database))

    def close(self) -> None:
        """Call off what is going on, and let go of the file of projects."""
        self.jobs.close()
        self.project_jobs.close()
        self.database.close()
